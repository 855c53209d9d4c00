import { equalBytes, hexOf } from '../format/bytes.ts';
import type { VerifyCrypto } from '../format/crypto.ts';
import { encodeFrontier } from '../format/merkle-tree.ts';
import { beginWalk } from './begin-walk.ts';
import type { LogSource } from './log-source.ts';
import type { Established, Finding, LogReport, VerifiedState, VerifyPins, WitnessedSize } from './report.ts';
import { createWalkParts } from './walk-parts.ts';
import { createWalk, type Walk } from './walk-records.ts';

export interface VerifyOptions {
  readonly crypto: VerifyCrypto;
  readonly pins: VerifyPins;
  /** Where an earlier verification ended; what came before is believed. Absent: from where the records begin. */
  readonly start?: VerifiedState;
  /** Told now and then how many entries were looked at. */
  readonly progress?: (entries: number) => void;
}

/**
 * Whether a log is what was written and signed, and what is the first thing wrong with it. Reads it once, in order, and
 * keeps no more in memory for a long log than for a short one. Throws only when something could not be looked at, and
 * `journal.invalid_note` for a pinned checkpoint that is none.
 */
export async function verifyLog(source: LogSource, options: VerifyOptions): Promise<LogReport> {
  const beginning = await beginWalk(source, options);
  if (beginning.kind === 'broken') return { kind: 'broken', origin: source.origin, finding: beginning.finding };

  // Only where somebody pins a witness do the roots that one saw matter.
  const cosignedSizes = options.pins.witnesses.length === 0 ? [] : ((await source.cosignedSizes?.()) ?? []);
  const walk = createWalk(createWalkParts(source, { ...options, beginning, cosignedSizes }));
  const finding =
    (await checkEarlier(source, walk)) ?? (await walkRecords(source, walk, options)) ?? (await checkEnd(source, walk));
  if (finding !== undefined) return { kind: 'broken', origin: source.origin, finding };
  return reportOn(source, walk, options);
}

/** What is known of sizes before the first record, and the keys from there. */
async function checkEarlier(
  source: LogSource,
  { chain, known, keys, isContinued }: Walk,
): Promise<Finding | undefined> {
  if (!isContinued) {
    for (const statement of source.earlierKeys) {
      const finding =
        statement.origin === source.origin
          ? await keys.add(statement)
          : ({ code: 'key_uncertified', why: 'A key statement is about another log.' } as const);
      if (finding !== undefined) return finding;
    }
  }
  return known.comparePast(chain.size);
}

async function walkRecords(
  source: LogSource,
  walk: Walk,
  { progress }: Pick<VerifyOptions, 'progress'>,
): Promise<Finding | undefined> {
  const { pending } = walk;
  for await (const page of source.records(walk.chain.size)) {
    for (const record of page) {
      const finding = walk.check(record);
      // Checks under way are of records before this one, so what they find comes first.
      if (finding !== undefined) return (await pending.settle()) ?? finding;
      if (pending.hasFound()) return pending.settle();
      const room = pending.room();
      if (room !== undefined) await room;
    }
    progress?.(walk.counts().entries);
  }
  return pending.settle();
}

/** What only shows when there are no more entries; of several things, the one at the first entry. */
async function checkEnd(source: LogSource, walk: Walk): Promise<Finding | undefined> {
  const { chain, known, keys, segments, subtrees, erasures } = walk;
  const findings = [
    await erasures.settle(),
    keys.overstayed(),
    segments.settle(),
    await subtrees.settle(),
    chain.size === 0 ? missing(0, 'The log has no entries.') : undefined,
    // SECURITY: T-53 — entries that nobody signed can be anybody's.
    walk.signedSize < chain.size ? unsigned(walk.signedSize, chain.size) : undefined,
    known.checkLength(chain.size),
    checkHead(source, walk),
  ].filter((finding) => finding !== undefined);
  return findings.toSorted((one, other) => (one.seq ?? Infinity) - (other.seq ?? Infinity))[0];
}

function missing(seq: number, why: string): Finding {
  return { code: 'entry_missing', seq, why };
}

function unsigned(signed: number, size: number): Finding {
  return { code: 'tail_unsigned', seq: signed, why: `No checkpoint covers the entries ${signed} to ${size - 1}.` };
}

function checkHead({ head, base }: LogSource, { chain, counts, isContinued }: Walk): Finding | undefined {
  const { entries, checkpoints } = counts();
  // The checkpoint of the size where the last verification ended is the first record, unless the log ends before it.
  if (isContinued && entries + checkpoints === 0) {
    const why = `The log had ${chain.size} entries when it was verified before, and now has fewer.`;
    return { code: 'truncated', seq: Math.min(head?.size ?? chain.size, chain.size), why };
  }
  if (head === undefined) return undefined;
  if (head.size > chain.size) {
    return missing(chain.size, `The log is kept as one of ${head.size} entries, and entry ${chain.size} is not there.`);
  }
  // SECURITY: T-31 — what is said to be before the beginning is believed without an entry: a body could be erased there.
  if (head.pruned !== base.frontier.size) {
    const why = `The log is kept as one that begins at entry ${head.pruned}, and it begins at ${base.frontier.size}.`;
    return { code: 'head_edited', why };
  }
  const isSame =
    head.size === chain.size &&
    head.sealed === chain.size &&
    equalBytes(head.hash, chain.previous) &&
    equalBytes(head.frontier, encodeFrontier(chain.frontier));
  if (isSame) return undefined;
  return { code: 'head_edited', why: 'What is kept as the end of the log is not what its entries end with.' };
}

async function reportOn(source: LogSource, walk: Walk, { pins, start }: VerifyOptions): Promise<LogReport> {
  const follows = walk.follows ?? start?.follows;
  const { chain, keys, known, counts, bodies } = walk;
  const witnessed = await known.witnessed(keys);
  const established: Established =
    pins.rootKey === undefined
      ? { level: 'self_consistent' }
      : witnessed === undefined
        ? { level: 'signed' }
        : { level: 'witnessed', size: witnessed.size, time: witnessed.time, witness: witnessed.witness.name };
  const remarks = [...walk.remarks(), ...(await known.remarks(keys))];
  if (pins.rootKey === undefined && witnessed !== undefined) {
    remarks.push(
      `The witness ${witnessed.witness.name} saw the log at size ${witnessed.size}, but no root key is pinned.`,
    );
  }
  return {
    kind: 'sound',
    origin: source.origin,
    rootKey: source.rootKey,
    size: chain.size,
    root: hexOf(chain.root()),
    established,
    counts: { ...counts(), bodies: { ...bodies.counts } },
    state: {
      ...stateOf(source, walk, await known.sightings(keys)),
      ...(follows === undefined ? {} : { follows }),
    },
    ...(follows === undefined ? {} : { follows }),
    remarks,
  };
}

function stateOf(
  { origin, rootKey }: LogSource,
  { chain, keys }: Walk,
  witnessed: readonly WitnessedSize[],
): VerifiedState {
  return {
    format: 'palyra.verified/1',
    origin,
    rootKey,
    size: chain.size,
    previous: hexOf(chain.previous),
    frontier: chain.frontier.roots.map(hexOf),
    keys: [...keys.statements],
    ...(witnessed.length === 0 ? {} : { witnessed }),
  };
}
