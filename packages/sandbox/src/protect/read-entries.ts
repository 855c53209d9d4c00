import { readdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { anchored, type FileState, isFileError, readRegular, stateOf, targetOf } from './anchored-files.ts';
import type { Rule, Sighting } from './look-into-directory.ts';

/** One file, link or directory at or below a protected path, as it was found. */
export interface Entry extends FileState {
  readonly path: string;
  /** What the tool may write, and this lies in. */
  readonly root: string;
  /** Its path from the protected name on: `.vscode/tasks.json`. */
  readonly within: string;
  readonly rule: Rule;
  readonly reason: string;
  /** Of files that are small enough to be kept. */
  readonly bytes: Buffer | undefined;
  /** Of links. */
  readonly target: string | undefined;
  readonly readAtMs: number;
}

export interface ReadContext {
  readonly root: string;
  readonly now: () => number;
  /** As they were found the last time. */
  readonly known: ReadonlyMap<string, Entry>;
}

/** Larger ones are watched, and cannot be restored. */
const LARGEST_COPY = 1024 * 1024;
const MOST_BYTES = 32 * 1024 * 1024;
const MOST_ENTRIES = 4096;
/** Coarser than the clock of any kernel: what changed so shortly before we looked may change again within one tick. */
const TICK_MS = 50;

export interface ReadEntries {
  /** Everything there that counts, a directory before what is in it. */
  readonly entries: readonly Entry[];
  /** False when it is too much: then there is only the directory itself. */
  readonly isComplete: boolean;
}

export function readEntries(sighting: Sighting, context: ReadContext): ReadEntries {
  const entries: Entry[] = [];
  const waiting = [sighting.path];
  let room = MOST_BYTES;
  for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
    const entry = readEntry(path, { sighting, room: Math.min(room, LARGEST_COPY) }, context);
    if (entry === undefined) continue;
    room -= entry.bytes?.length ?? 0;
    if (entries.push(entry) > MOST_ENTRIES) return { entries: entries.slice(0, 1), isComplete: false };
    if (entry.kind !== 'directory') continue;
    const isHooks = sighting.rule === 'hooks' && path === sighting.path;
    // Git runs hooks by their whole names.
    const names = namesIn(path).filter((name) => !(isHooks && name.endsWith('.sample')));
    waiting.push(...names.map((name) => `${path}/${name}`).toReversed());
  }
  return { entries, isComplete: true };
}

/** Whether nothing happened since, although a clock has only so many ticks. */
export function isSettled({ changedAtMs }: Pick<FileState, 'changedAtMs'>, atMs: number): boolean {
  return changedAtMs < atMs - TICK_MS;
}

interface Wanted {
  readonly sighting: Sighting;
  /** Bytes that may be kept. */
  readonly room: number;
}

function readEntry(path: string, { sighting, room }: Wanted, { root, now, known }: ReadContext): Entry | undefined {
  const state = stateOf(path);
  if (state === undefined) return undefined;
  const before = known.get(path);
  const { rule, reason } = sighting;
  const within = path.slice(dirname(sighting.path).length + 1);
  const base = { path, root, within, rule, reason };
  if (before?.stamp === state.stamp && isSettled(state, before.readAtMs)) return { ...before, ...state, ...base };
  const readAtMs = now();
  // SECURITY: T-14 — what is kept is written into the workspace later, so it must be from the workspace.
  const read = anchored(root, path, (at) => {
    if (state.kind === 'link') return { ...state, bytes: undefined, target: targetOf(at) };
    if (state.kind !== 'file') return { ...state, bytes: undefined, target: undefined };
    const regular = readRegular(at.path, room);
    return { ...regular.state, bytes: regular.bytes, target: undefined };
  });
  return { ...base, readAtMs, ...(read ?? { ...state, bytes: undefined, target: undefined }) };
}

function namesIn(path: string): readonly string[] {
  try {
    return readdirSync(path).toSorted();
  } catch (error) {
    if (isFileError(error)) return [];
    throw error;
  }
}
