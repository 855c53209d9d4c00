import type { Dirent } from 'node:fs';
import { dirname } from 'node:path';
import { anchored, type FileState, isFileError, readRegular, stateOf, targetOf } from './anchored-files.ts';
import { stampOf } from './list-directory.ts';
import { listing } from './listing.ts';
import type { Rule, Sighting } from './look-into-directory.ts';
import { fromBytes } from './path-bytes.ts';

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

/** What one scan may still read. */
export interface Budget {
  readonly entriesAtOnePath: number;
  entries: number;
  bytes: number;
}

export interface ReadContext {
  readonly root: string;
  readonly now: () => number;
  isQuiet(): boolean;
  /** As they were found the last time. */
  readonly known: ReadonlyMap<string, Entry>;
  readonly budget: Budget;
  /** False when it stays closed to us. */
  opens(directory: Pick<Entry, 'path' | 'mode' | 'uid'>): boolean;
  /** Whether somebody will ask for the bytes. */
  loads(found: Pick<Entry, 'path' | 'within' | 'rule' | 'size'>): boolean;
}

/** Larger ones are watched, and cannot be restored. */
const LARGEST_COPY = 1024 * 1024;
/** Nobody's configuration is that large, and ours is the time that it takes to read one. */
const LARGEST_CONFIG = 256 * 1024;
const LARGEST_POINTER = 16 * 1024;
/** Coarser than the clock of any kernel: what changed so shortly before we looked may change again within one tick. */
const TICK_MS = 50;

export interface ReadEntries {
  /** Everything there that counts, a directory before what is in it. */
  readonly entries: readonly Entry[];
  /** False when it is too much, or out of reach: then there is only the path itself, or nothing. */
  readonly isComplete: boolean;
}

export function* readEntries(sighting: Sighting, context: ReadContext): Generator<undefined, ReadEntries> {
  const { budget } = context;
  const entries: Entry[] = [];
  const waiting = [sighting.path];
  for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
    yield undefined;
    const entry = readEntry(path, sighting, context);
    // SECURITY: T-15 — a name that is too long for us is not for somebody who is in its directory.
    if (entry === undefined && stampOf(path) === 'out of reach')
      return { entries: entries.slice(0, 1), isComplete: false };
    if (entry === undefined) continue;
    budget.entries -= 1;
    budget.bytes -= entry.bytes?.length ?? 0;
    if (entries.push(entry) > budget.entriesAtOnePath || budget.entries < 0) {
      return { entries: entries.slice(0, 1), isComplete: false };
    }
    if (entry.kind !== 'directory' || sighting.rule === 'link') continue;
    const isHooks = sighting.rule === 'hooks' && path === sighting.path;
    const isOpen = context.opens(entry);
    const names = isOpen ? yield* namesIn(path, { isLeftOut: isHooks ? isSample : () => false, budget }) : undefined;
    if (names === undefined) return { entries: entries.slice(0, 1), isComplete: false };
    waiting.push(...names.map((name) => `${path}/${name}`).toReversed());
  }
  return { entries, isComplete: true };
}

/** The same for one path alone, and through no link on the way to it. */
export function readAgain(was: Entry, context: ReadContext): Entry | undefined {
  const { path, rule, reason, within } = was;
  const isThere = anchored(context.root, path, (at) => stateOf(at.path) !== undefined) === true;
  if (!isThere) return undefined;
  const found = readEntry(path, { path, rule, reason, hold: 'never' }, context);
  return found === undefined ? undefined : { ...found, within };
}

export function isRestorable({ kind, bytes, target }: Entry): boolean {
  return kind === 'directory' || bytes !== undefined || target !== undefined;
}

/** Whether nothing happened since, although a clock has only so many ticks. */
export function isSettled({ changedAtMs }: Pick<FileState, 'changedAtMs'>, atMs: number): boolean {
  return changedAtMs < atMs - TICK_MS;
}

function readEntry(path: string, sighting: Sighting, context: ReadContext): Entry | undefined {
  const { root, now, isQuiet, known, budget, loads } = context;
  const state = stateOf(path);
  if (state === undefined) return undefined;
  const before = known.get(path);
  const { rule, reason } = sighting;
  const within = path.slice(dirname(sighting.path).length + 1);
  const base = { path, root, within, rule, reason };
  const room = loads({ ...base, size: state.size }) ? Math.min(budget.bytes, largestOf(rule)) : 0;
  const isRead = before?.kind !== 'file' || before.bytes !== undefined || state.size > room;
  if (isRead && before?.stamp === state.stamp && isSettled(state, before.readAtMs))
    return { ...before, ...state, ...base };
  // SECURITY: T-15 — through a shared mapping bytes change and the change time does not: what was read meanwhile is read again.
  const readAtMs = isQuiet() ? now() : Number.NEGATIVE_INFINITY;
  // SECURITY: T-14 — what is kept is written into the workspace later, so it must be from the workspace.
  const read = anchored(root, path, (at) => {
    if (state.kind === 'link') return { ...state, bytes: undefined, target: targetOf(at) };
    if (state.kind !== 'file' || (room === 0 && state.size > 0))
      return { ...state, bytes: undefined, target: undefined };
    const regular = readRegular(at.path, room);
    return { ...regular.state, bytes: regular.bytes, target: undefined };
  });
  return { ...base, readAtMs, ...(read ?? { ...state, bytes: undefined, target: undefined }) };
}

function largestOf(rule: Rule): number {
  if (rule === 'config') return LARGEST_CONFIG;
  return rule === 'pointer' ? LARGEST_POINTER : LARGEST_COPY;
}

/** Git runs hooks by their whole names. A directory of that name is no sample. */
function isSample(found: Dirent): boolean {
  return found.isFile() && found.name.endsWith('.sample');
}

interface Wanted {
  isLeftOut(found: Dirent): boolean;
  readonly budget: Budget;
}

/** SECURITY: T-15 — no more names than count: a tool can make a million. Undefined when there are more, or none can be read. */
function* namesIn(path: string, { isLeftOut, budget }: Wanted): Generator<undefined, readonly string[] | undefined> {
  const names: string[] = [];
  try {
    for (const found of listing(path)) {
      yield undefined;
      if (isLeftOut(found)) continue;
      if (names.push(fromBytes(Buffer.from(found.name, 'latin1'))) > budget.entriesAtOnePath) return undefined;
    }
    return names.toSorted();
  } catch (error) {
    if (isFileError(error)) return stateOf(path)?.kind === 'directory' ? undefined : [];
    throw error;
  }
}
