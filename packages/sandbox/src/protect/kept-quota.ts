import { join } from 'node:path';
import { isFileError, stateOf } from './anchored-files.ts';
import { listing } from './listing.ts';
import { fromBytes } from './path-bytes.ts';
import { removeTree } from './remove-tree.ts';

/** How much of what was attempted is kept. */
export interface KeptQuota {
  readonly now: () => number;
  readonly bytesOfRun: number;
  readonly entriesOfRun: number;
  readonly bytes: number;
  readonly runs: number;
  readonly ageMs: number;
}

/** For an operator who looks into it within a month. */
export function keptQuota(now: () => number): KeptQuota {
  return {
    now,
    bytesOfRun: 32 * 1024 * 1024,
    entriesOfRun: 4096,
    bytes: 256 * 1024 * 1024,
    runs: 256,
    ageMs: 30 * 24 * 3600 * 1000,
  };
}

/** Removes the oldest runs, as many as it takes. Never `own`. */
export function* trimKept(directory: string, quota: KeptQuota, own: string): Generator<undefined, void> {
  const runs = [...namesIn(directory)]
    .filter((name) => RUN.test(name))
    .toSorted()
    .toReversed()
    .map((name) => join(directory, name));
  let room = quota.bytes;
  for (const [at, run] of runs.entries()) {
    yield undefined;
    const ageMs = quota.now() - (stateOf(run)?.changedAtMs ?? 0);
    const isWithin = room >= 0 && at < quota.runs && ageMs <= quota.ageMs;
    if (isWithin) room -= (yield* sizeOf(run, { bytes: room, entries: quota.entriesOfRun })).bytes;
    if (run !== own && (!isWithin || room < 0)) yield* removeTree(directory, run);
  }
}

/** More than there is room for is infinitely much. Names cost something too. */
export function* sizeOf(
  path: string,
  { bytes, entries }: { readonly bytes: number; readonly entries: number },
): Generator<undefined, { readonly bytes: number }> {
  const waiting = [path];
  let sum = 0;
  let count = 0;
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    yield undefined;
    const found = stateOf(next);
    sum += found?.size ?? 0;
    count += 1;
    if (sum > bytes || count > 2 * entries) return { bytes: Number.POSITIVE_INFINITY };
    if (found?.kind !== 'directory') continue;
    for (const name of namesIn(next)) {
      yield undefined;
      if (waiting.push(`${next}/${name}`) > 2 * entries) return { bytes: Number.POSITIVE_INFINITY };
    }
  }
  return { bytes: sum };
}

/** As `createKeeper` calls them: the time, and something by chance. */
const RUN = /^\d{4}-\d\d-\d\dT[\d-]+Z-[0-9a-f]{8}$/;

/** One after the other: a tool may have made a million. */
function* namesIn(path: string): Generator<string, void> {
  try {
    for (const { name } of listing(path)) yield fromBytes(Buffer.from(name, 'latin1'));
  } catch (error) {
    if (!isFileError(error)) throw error;
  }
}
