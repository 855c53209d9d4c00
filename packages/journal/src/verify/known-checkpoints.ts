import { bytesOfHex, concat, equalBytes, hexOf, uint64 } from '../format/bytes.ts';
import { type Checkpoint, checkpointText, findCosignature, parseCheckpoint } from '../format/checkpoint.ts';
import type { VerifyCrypto } from '../format/crypto.ts';
import type { EntryData } from '../format/entry-kinds.ts';
import { formatVkey, isSignedBy, type NoteKey, noteKeyId, type SignedNote } from '../format/signed-note.ts';
import type { Past } from './compare-past.ts';
import type { KeyRing } from './key-ring.ts';
import type { Finding, VerifyPins, WitnessedSize } from './report.ts';

/** What the verifier knows of the log from elsewhere, compared with what the log is. */
export interface KnownCheckpoints {
  /** Of those that are known of this log, smallest first. */
  readonly sizes: ReadonlySet<number>;
  /** What the log had at a size. */
  compare(size: number, root: Uint8Array): Finding | undefined;
  /** What is known of sizes up to where the verification begins. */
  comparePast(first: number): Promise<Finding | undefined>;
  /** A cosignature that the log itself holds, and the root that the log had at its size, if that is remembered. */
  cosigned(data: EntryData<'checkpoint.cosigned'>, root: Uint8Array | undefined): Promise<Finding | undefined>;
  /** When the log was read to its end: whether it is as long as what is known of it. */
  checkLength(size: number): Finding | undefined;
  /** The largest size that a pinned witness, who is nobody of the log itself, saw as it is here. */
  witnessed(keys: KeyRing): Promise<Sighting | undefined>;
  /** What each witness saw last, for the next verification; those of earlier ones whether they are still pinned or not. */
  sightings(keys: KeyRing): Promise<readonly WitnessedSize[]>;
  /** What the reader of the report should know about the pins. */
  remarks(keys: KeyRing): Promise<readonly string[]>;
}

export interface Sighting {
  readonly size: number;
  readonly time: number;
  readonly witness: NoteKey;
}

interface KnownDeps {
  readonly origin: string;
  readonly pins: VerifyPins;
  readonly crypto: VerifyCrypto;
  readonly past: Past;
  /** What an earlier verification, which this one goes on from, knew of witnesses. */
  readonly earlier: readonly WitnessedSize[];
}

interface Known {
  readonly note: SignedNote;
  readonly checkpoint: Checkpoint;
}

/** Throws `journal.invalid_note` for a pinned checkpoint that is none. */
export function createKnownCheckpoints({ origin, pins, crypto, past, earlier }: KnownDeps): KnownCheckpoints {
  const known = pins.checkpoints.map(parseCheckpoint).filter(({ checkpoint }) => checkpoint.origin === origin);
  const agreed = new Set<Known>();
  const sightings: Sighting[] = earlier.flatMap((seen) => {
    const witness = pins.witnesses.find((pinned) => formatVkey(pinned, crypto.sha256) === seen.witness);
    return witness === undefined ? [] : [{ size: seen.size, time: seen.time, witness }];
  });
  let worthless = 0;
  let skipped = 0;

  const seenBy = async (keys: KeyRing): Promise<readonly Sighting[]> => {
    const found = [...sightings];
    for (const { note, checkpoint } of agreed) {
      for (const witness of pins.witnesses) {
        const cosignature = await findCosignature(note, witness, crypto);
        if (cosignature !== undefined) found.push({ size: checkpoint.size, time: cosignature.time, witness });
      }
    }
    // SECURITY: T-53 — the log's own keys bear no witness to it, under whatever name they are pinned.
    return found
      .filter(({ witness }) => !keys.has(witness.publicKey))
      .toSorted((one, other) => other.size - one.size || other.time - one.time);
  };

  return {
    sizes: new Set(known.map(({ checkpoint }) => checkpoint.size).toSorted((one, other) => one - other)),
    compare(size, root) {
      for (const each of known.filter(({ checkpoint }) => checkpoint.size === size)) {
        // SECURITY: T-53 — whoever has all keys can sign another past, but not change what others remember of it.
        if (!equalBytes(root, each.checkpoint.root)) return forked(each.checkpoint, root);
        agreed.add(each);
      }
      return undefined;
    },
    async comparePast(first) {
      for (const each of known.filter(({ checkpoint }) => checkpoint.size <= first)) {
        const agreement = await past.agrees(each.checkpoint);
        if (agreement === 'differs') return forked(each.checkpoint);
        if (agreement === 'agrees') agreed.add(each);
      }
      return undefined;
    },
    async cosigned(data, root) {
      const witness = pins.witnesses.find((pinned) => isWitness(pinned, data));
      if (witness === undefined) return undefined;
      const checkpoint: Checkpoint = { origin, size: data.size, root: bytesOfHex(data.root) ?? new Uint8Array() };
      if ((await findCosignature(noteOf(checkpoint, data, crypto), witness, crypto)) === undefined) {
        worthless += 1;
        return undefined;
      }
      if (root !== undefined && !equalBytes(root, checkpoint.root)) return forked(checkpoint, root);
      const agreement = root === undefined ? await past.agrees(checkpoint) : 'agrees';
      if (agreement === 'differs') return forked(checkpoint);
      if (agreement === 'unknown') skipped += 1;
      else keepLargest(sightings, { size: data.size, time: data.time, witness });
      return undefined;
    },
    checkLength(size) {
      const longest = known.reduce((most, { checkpoint }) => Math.max(most, checkpoint.size), 0);
      if (longest <= size) return undefined;
      const why = `The log has ${size} entries, and a checkpoint of ${longest} is known.`;
      return { code: 'truncated', seq: size, why };
    },
    async witnessed(keys) {
      return (await seenBy(keys))[0];
    },
    async sightings(keys) {
      const newest = new Map<string, WitnessedSize>();
      for (const { size, time, witness } of await seenBy(keys)) {
        const vkey = formatVkey(witness, crypto.sha256);
        if (!newest.has(vkey)) newest.set(vkey, { size, time, witness: vkey });
      }
      return [...newest.values(), ...earlier.filter(({ witness }) => !newest.has(witness))];
    },
    async remarks(keys) {
      const own = pins.witnesses.filter(({ publicKey }) => keys.has(publicKey));
      const unsigned = await countUnsigned(known, keys, { pins, crypto });
      return [
        ...own.map(({ name }) => `The witness ${name} has a key of the log itself, so it counts for nothing.`),
        ...(skipped > 0 ? [`${skipped} cosignatures in the log are about sizes whose root was not at hand.`] : []),
        ...(worthless > 0 ? [`${worthless} cosignatures in the log do not hold.`] : []),
        ...(unsigned > 0 ? [`${unsigned} known checkpoints are signed by no key of the log and no witness.`] : []),
        ...(known.length < pins.checkpoints.length
          ? [`${pins.checkpoints.length - known.length} known checkpoints are of other logs than this one.`]
          : []),
        ...(agreed.size < known.length
          ? [`${known.length - agreed.size} known checkpoints are of sizes that were not looked at.`]
          : []),
      ];
    },
  };
}

function isWitness(pinned: NoteKey, { witness, witness_key }: EntryData<'checkpoint.cosigned'>): boolean {
  return pinned.name === witness && hexOf(pinned.publicKey) === witness_key;
}

/** The checkpoint with the cosignature as the witness sent it. */
function noteOf(
  checkpoint: Checkpoint,
  { witness, witness_key, time, signature }: EntryData<'checkpoint.cosigned'>,
  { sha256 }: VerifyCrypto,
): SignedNote {
  const publicKey = bytesOfHex(witness_key) ?? new Uint8Array();
  const keyId = noteKeyId({ name: witness, type: 4, publicKey }, sha256);
  const bytes = concat(uint64(time), bytesOfHex(signature) ?? new Uint8Array());
  return { text: checkpointText(checkpoint), signatures: [{ name: witness, keyId, signature: bytes }] };
}

/** One for each witness is enough, and a log may hold one for every hour of many years. */
function keepLargest(sightings: Sighting[], seen: Sighting): void {
  const at = sightings.findIndex(({ witness }) => witness === seen.witness);
  if (at < 0) sightings.push(seen);
  else if (seen.size >= (sightings[at]?.size ?? 0)) sightings[at] = seen;
}

async function countUnsigned(
  known: readonly Known[],
  keys: KeyRing,
  { pins, crypto }: Pick<KnownDeps, 'pins' | 'crypto'>,
): Promise<number> {
  let unsigned = 0;
  for (const { note, checkpoint } of known) {
    const logKeys = keys.validAt('checkpoint', checkpoint.size);
    const byLog = await Promise.all(
      logKeys.map(({ publicKey }) => isSignedBy(note, { name: checkpoint.origin, type: 1, publicKey }, crypto)),
    );
    const byWitness = await Promise.all(pins.witnesses.map((witness) => findCosignature(note, witness, crypto)));
    if (!byLog.includes(true) && byWitness.every((cosignature) => cosignature === undefined)) unsigned += 1;
  }
  return unsigned;
}

function forked({ size, root: expected }: Checkpoint, root?: Uint8Array): Finding {
  const has = root === undefined ? 'has another root' : `has the root ${hexOf(root)}`;
  const why = `At size ${size} the log ${has}, and is known with ${hexOf(expected)}: an entry before ${size} differs.`;
  return { code: 'forked', why };
}
