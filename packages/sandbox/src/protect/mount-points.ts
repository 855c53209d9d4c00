import { randomBytes } from 'node:crypto';
import {
  closeSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  unlinkSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { isDead, startTicksOf } from '../cgroup/job-name.ts';
import { anchored, isFileError, makeDirectory, stateOf } from './anchored-files.ts';

/** Directories that are made in a workspace so that something can be mounted there, and removed with their last user. */
export interface MountPoints {
  /** Whether it is there only because it was taken. */
  has(path: string): boolean;
  /** False when there is something of that name, or it cannot be made. */
  take(root: string, path: string): boolean;
  release(root: string, path: string): void;
}

interface Made {
  readonly root: string;
  readonly path: string;
  readonly pid: number;
  readonly startTicks: number;
}

/** `directory` holds a record of each for as long as it is there. */
export function createMountPoints(directory: string): MountPoints {
  const users = new Map<string, { count: number; readonly record: string }>();
  return {
    has: (path) => users.has(path),
    take(root, path) {
      const known = users.get(path);
      if (known !== undefined) {
        known.count += 1;
        return true;
      }
      const record = recordOf({ root, path, ...ownProcess() }, directory);
      if (record === undefined) return false;
      const isMade = anchored(root, path, (at) => {
        const parent = stateOf(at.beside('.'));
        if (parent === undefined || stateOf(at.path) !== undefined) return false;
        makeDirectory(at, { ...parent, mode: 0o755 });
        return true;
      });
      if (isMade === true) users.set(path, { count: 1, record });
      else unlinkSync(record);
      return isMade === true;
    },
    release(root, path) {
      const known = users.get(path);
      if (known === undefined) return;
      known.count -= 1;
      if (known.count > 0) return;
      users.delete(path);
      remove(root, path, known.record);
    },
  };
}

/** Those of a daemon that was killed. */
export function removeLeftMountPoints(directory: string): void {
  for (const name of namesIn(directory)) {
    const record = join(directory, name);
    const made = readRecord(record);
    if (made === undefined || !isRunning(made)) remove(made?.root ?? '/', made?.path ?? '/', record);
  }
}

/** A directory with something in it stays: somebody uses it. */
function remove(root: string, path: string, record: string): void {
  anchored(root, path, (at) => rmdirSync(at.path));
  attempt(() => unlinkSync(record));
}

/** On the disk before the directory is: what is made is never forgotten. */
function recordOf(made: Made, directory: string): string | undefined {
  return attempt(() => {
    mkdirSync(directory, { recursive: true, mode: 0o700 });
    const path = join(directory, `${randomBytes(8).toString('hex')}.json`);
    const fd = openSync(path, 'wx', 0o600);
    try {
      writeSync(fd, JSON.stringify(made));
      fsyncSync(fd);
    } finally {
      closeSync(fd);
    }
    const parent = openSync(directory, 'r');
    try {
      fsyncSync(parent);
    } finally {
      closeSync(parent);
    }
    return path;
  });
}

function readRecord(path: string): Made | undefined {
  try {
    const { root, path: made, pid, startTicks } = JSON.parse(readFileSync(path, 'utf8')) as Partial<Made>;
    if (typeof root !== 'string' || typeof made !== 'string') return undefined;
    return { root, path: made, pid: Number(pid), startTicks: Number(startTicks) };
  } catch {
    // Half-written: the directory was not made yet.
    return undefined;
  }
}

export function ownProcess(): Pick<Made, 'pid' | 'startTicks'> {
  return { pid: process.pid, startTicks: startTicksOf(readFileSync('/proc/self/stat', 'utf8')) ?? 0 };
}

/** Another process may have its number by now. */
export function isRunning({ pid, startTicks }: Pick<Made, 'pid' | 'startTicks'>): boolean {
  const stat = attempt(() => readFileSync(`/proc/${pid}/stat`, 'utf8'));
  return stat !== undefined && !isDead(stat) && startTicksOf(stat) === startTicks;
}

function namesIn(directory: string): readonly string[] {
  return attempt(() => readdirSync(directory).filter((name) => name.endsWith('.json'))) ?? [];
}

function attempt<T>(act: () => T): T | undefined {
  try {
    return act();
  } catch (error) {
    if (isFileError(error)) return undefined;
    throw error;
  }
}
