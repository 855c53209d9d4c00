import { equalBytes, hexOf } from '../format/bytes.ts';
import { type Checkpoint, parseCheckpoint } from '../format/checkpoint.ts';
import type { VerifyCrypto } from '../format/crypto.ts';
import type { KeyValidity } from '../format/key-statement.ts';
import { isSignedBy, type SignedNote } from '../format/signed-note.ts';
import { JournalError } from '../journal-error.ts';
import type { CheckpointRecord } from './log-source.ts';
import type { Checked } from './pending-checks.ts';
import type { FindingCode } from './report.ts';

export interface CheckpointPlace {
  readonly origin: string;
  /** How many entries there are where the checkpoint stands, and their root. */
  readonly size: number;
  readonly root: Uint8Array;
  /** The size of the checkpoint before it. */
  readonly covered: number;
  readonly keys: readonly KeyValidity[];
  used(key: KeyValidity): void;
}

/** Whether a checkpoint is one of this log, says what the entries say, and is signed by a key that counted then. */
export function checkCheckpoint(
  { size: storedSize, note: text }: CheckpointRecord,
  place: CheckpointPlace,
  crypto: VerifyCrypto,
): Checked {
  const broken = (code: FindingCode, why: string) => ({ code, seq: place.covered, why });
  const parsed = parse(text);
  if (typeof parsed === 'string') return broken('checkpoint_malformed', `The checkpoint of ${storedSize}: ${parsed}`);
  const { note, checkpoint } = parsed;
  if (checkpoint.origin !== place.origin || checkpoint.size !== storedSize) {
    return broken(
      'checkpoint_malformed',
      `What is kept as checkpoint of size ${storedSize} is about another log or size.`,
    );
  }
  if (storedSize > place.size) {
    const why = `A checkpoint is about ${storedSize} entries, and entry ${place.size} is not there.`;
    return { code: 'entry_missing', seq: place.size, why };
  }
  if (storedSize !== place.size) {
    return broken('checkpoint_malformed', `A checkpoint of size ${storedSize} stands after ${place.size} entries.`);
  }
  // SECURITY: T-31 — a chain can be made anew by anybody; what was signed about it cannot.
  if (!equalBytes(checkpoint.root, place.root)) {
    const why = `The checkpoint of size ${storedSize} says the root ${hexOf(checkpoint.root)}, and the entries have ${hexOf(place.root)}.`;
    return broken('checkpoint_wrong', why);
  }
  return signed(note, place, crypto).then((holds) =>
    holds
      ? undefined
      : broken('checkpoint_unsigned', `The checkpoint of size ${storedSize} is not signed by a key that counted then.`),
  );
}

function parse(text: string): { readonly note: SignedNote; readonly checkpoint: Checkpoint } | string {
  try {
    return parseCheckpoint(text);
  } catch (error) {
    return error instanceof JournalError ? error.message : 'It is not text.';
  }
}

async function signed(
  note: SignedNote,
  { origin, keys, used }: CheckpointPlace,
  crypto: VerifyCrypto,
): Promise<boolean> {
  // SECURITY: T-31 — only keys that the root certified for this size: a retired key signs nothing new.
  for (const key of keys) {
    if (!(await isSignedBy(note, { name: origin, type: 1, publicKey: key.publicKey }, crypto))) continue;
    used(key);
    return true;
  }
  return false;
}
