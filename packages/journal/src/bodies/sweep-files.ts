import type { Stats } from 'node:fs';
import { lstat, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '@palyra/primitives/browser';
import { checkBodyDirectory, errnoOf, incomingDirectory, isCommitment } from './body-directory.ts';
import { eraseFile } from './erase-file.ts';
import { isOfThisProcess } from './spill-file.ts';

export interface SweepBodyFilesOptions {
  readonly directory: string;
  /** Which of these, at most 256, have a row that says the body is in a file. */
  isKnown(commitments: readonly string[]): Promise<ReadonlySet<string>>;
  /** Which of these, at most 256, have a row that says the body was erased: they go whatever their age. */
  isErased(commitments: readonly string[]): Promise<ReadonlySet<string>>;
  /**
   * More than a body may wait between its preparation and the commit of its row, and than another process may pause
   * while it prepares one.
   */
  readonly olderThanMs: number;
  readonly clock: Clock;
}

export interface SweptBodyFiles {
  readonly removed: number;
}

const AT_ONCE = 256;

/**
 * Removes what a crash left: bodies whose row was never committed, halves of bodies, and files whose row was erased or
 * pruned just before. Throws `journal.body_unsafe`, `journal.not_erased` and what `isKnown` and the file
 * system throw; the next sweep goes on.
 */
export async function sweepBodyFiles(options: SweepBodyFilesOptions): Promise<SweptBodyFiles> {
  const { directory } = options;
  if ((await checkBodyDirectory(directory)) === 'absent') return { removed: 0 };
  let removed = await sweepIncoming(options);
  for (const shard of await readdir(directory, { withFileTypes: true })) {
    // Links are passed over too: only what is in this directory is ours to remove.
    if (shard.isDirectory() && /^[0-9a-f]{2}$/.test(shard.name)) removed += await sweepShard(options, shard.name);
  }
  return { removed };
}

async function sweepIncoming(options: SweepBodyFilesOptions): Promise<number> {
  const incoming = incomingDirectory(options.directory);
  if ((await checkBodyDirectory(incoming)) === 'absent') return 0;
  const foreign = (await readdir(incoming)).filter((name) => !isOfThisProcess(name));
  return erase(incoming, await onlyOld(incoming, foreign, options));
}

async function sweepShard(options: SweepBodyFilesOptions, shard: string): Promise<number> {
  const path = join(options.directory, shard);
  const bodies = (await readdir(path)).filter((name) => isCommitment(name) && name.startsWith(shard));
  let removed = 0;
  for (let start = 0; start < bodies.length; start += AT_ONCE) {
    const some = bodies.slice(start, start + AT_ONCE);
    // SECURITY: T-54 — a crash between the record of an erasure and the file must not keep what was erased.
    const erased = await options.isErased(some);
    const old = (await onlyOld(path, some, options)).filter((name) => !erased.has(name));
    const known = old.length === 0 ? new Set<string>() : await options.isKnown(old);
    removed += await erase(path, [...erased, ...old.filter((name) => !known.has(name))]);
  }
  return removed;
}

async function onlyOld(
  directory: string,
  names: readonly string[],
  { clock, olderThanMs }: SweepBodyFilesOptions,
): Promise<readonly string[]> {
  const newest = clock.now() - olderThanMs;
  const old: string[] = [];
  for (const name of names) {
    const stat = await statIfThere(join(directory, name));
    // The change time, which being named sets too: the last byte may have come long before the source ended.
    if (stat?.isFile() === true && stat.ctimeMs < newest) old.push(name);
  }
  return old;
}

async function statIfThere(path: string): Promise<Stats | undefined> {
  try {
    return await lstat(path);
  } catch (thrown) {
    if (errnoOf(thrown) === 'ENOENT') return undefined;
    throw thrown;
  }
}

async function erase(directory: string, names: readonly string[]): Promise<number> {
  for (const name of names) await eraseFile(join(directory, name));
  return names.length;
}
