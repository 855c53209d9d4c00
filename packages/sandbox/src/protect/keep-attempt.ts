import { randomBytes } from 'node:crypto';
import { mkdirSync, renameSync, unlinkSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { type Anchored, isFileError, readRegular, stateOf, targetOf } from './anchored-files.ts';

/** Larger files are moved instead of copied. */
const LARGEST_COPY = 16 * 1024 * 1024;

/** Puts aside what was found at protected paths in one run. */
export interface Keeper {
  /** Takes away what is there and returns where it is now; undefined when nothing was there. */
  takeAway(at: Anchored, path: string): string | undefined;
  /** A copy; what is there stays. */
  copy(at: Anchored, path: string): string | undefined;
}

/** `directory` is nobody's but ours, and outside of every workspace. */
export function createKeeper(directory: string, now: () => number): Keeper {
  let own: string | undefined;
  let count = 0;
  const nextName = (path: string) => {
    own ??= makeOwn(directory, now);
    count += 1;
    return join(own, `${count}-${printable(basename(path))}`);
  };
  const copy = (at: Anchored, path: string) => {
    const found = stateOf(at.path);
    if (found?.kind === 'link') return written(nextName(path), Buffer.from(`A link to ${targetOf(at)}\n`));
    if (found?.kind !== 'file') return undefined;
    const { bytes } = readRegular(at.path, LARGEST_COPY);
    return bytes === undefined ? undefined : written(nextName(path), bytes);
  };
  return {
    takeAway(at, path) {
      if (stateOf(at.path) === undefined) return undefined;
      // A copy, where that is possible: other names of the file do not reach it.
      const kept = attempt(() => copy(at, path));
      if (kept === undefined) return moved(at, path, () => nextName(path));
      unlinkSync(at.path);
      return kept;
    },
    copy: (at, path) => attempt(() => copy(at, path)),
  };
}

/** A full disk must not be a reason to leave a hook where it is. */
function attempt(act: () => string | undefined): string | undefined {
  try {
    return act();
  } catch (error) {
    if (isFileError(error)) return undefined;
    throw error;
  }
}

function makeOwn(directory: string, now: () => number): string {
  const stamp = new Date(now()).toISOString().replace(/[:.]/g, '-');
  const own = join(directory, `${stamp}-${randomBytes(4).toString('hex')}`);
  mkdirSync(own, { recursive: true, mode: 0o700 });
  return own;
}

/** SECURITY: T-08 — the name is the tool's, and is read in a terminal. */
function printable(name: string): string {
  return name.replace(/[^A-Za-z0-9._-]/g, '_').slice(0, 80);
}

function written(path: string, bytes: Buffer): string {
  // SECURITY: T-45 — never executable, and nobody else's to read.
  writeFileSync(path, bytes, { mode: 0o600, flag: 'wx' });
  return path;
}

/** Directories, sockets, and what is too large. Where it cannot be moved out it gets a name that nobody looks for. */
function moved(at: Anchored, path: string, nextName: () => string): string {
  const out = attempt(() => {
    const target = nextName();
    renameSync(at.path, target);
    return target;
  });
  if (out !== undefined) return out;
  const aside = `${basename(path)}.palyra-kept-${randomBytes(4).toString('hex')}`;
  renameSync(at.path, at.beside(aside));
  return join(dirname(path), aside);
}
