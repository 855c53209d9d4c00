import { randomBytes } from 'node:crypto';
import { mkdirSync, renameSync, unlinkSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { type Anchored, isFileError, readRegular, stateOf, targetOf } from './anchored-files.ts';
import { type KeptQuota, sizeOf, trimKept } from './kept-quota.ts';
import { toBytes } from './path-bytes.ts';
import { removeTree } from './remove-tree.ts';

/** Larger files are moved instead of copied. */
const LARGEST_COPY = 16 * 1024 * 1024;

/** Puts aside what was found at protected paths in one run. */
export interface Keeper {
  /** Takes away what is there and returns where it is now; undefined when nothing was there, or it is not kept. */
  takeAway(at: Anchored, place: KeptPlace): string | undefined;
  /** A copy; what is there stays. */
  copy(at: Anchored, path: string): string | undefined;
  /** Once, after everything. Removes what is too much. */
  settle(): Generator<undefined, Settled>;
}

export interface Settled {
  /** Of this run, and not kept after all. */
  readonly dropped: ReadonlySet<string>;
  /** In the workspace under another name, because it could neither be moved out nor removed. */
  readonly left: readonly string[];
}

export interface KeptPlace {
  readonly root: string;
  readonly path: string;
}

/** `directory` is nobody's but ours, and outside of every workspace. */
export function createKeeper(directory: string, quota: KeptQuota): Keeper {
  let own: string | undefined;
  let count = 0;
  let room = quota.bytesOfRun;
  const trees: string[] = [];
  const unkept: KeptPlace[] = [];
  const nextName = (path: string) => {
    own ??= makeOwn(directory, quota.now);
    count += 1;
    return join(own, `${count}-${printable(basename(path))}`);
  };
  /** SECURITY: T-15 — a tool must not fill the operator's disk by attempts. */
  const hasRoom = (size: number) => {
    if (size > room || count >= quota.entriesOfRun) return false;
    room -= size;
    return true;
  };
  const copy = (at: Anchored, path: string) => {
    const found = stateOf(at.path);
    if (found?.kind === 'link') return written(nextName(path), Buffer.from(`A link to ${targetOf(at)}\n`));
    if (found?.kind !== 'file') return undefined;
    const { bytes } = readRegular(at.path, LARGEST_COPY);
    return bytes === undefined ? undefined : written(nextName(path), bytes);
  };
  return {
    takeAway(at, { root, path }) {
      const found = stateOf(at.path);
      if (found === undefined) return undefined;
      if (found.kind === 'directory') {
        const out = moved(at, () => nextName(path));
        if (out === undefined) unkept.push({ root, path: setAside(at, path) });
        else trees.push(out);
        return out;
      }
      // A copy, where that is possible: other names of the file do not reach it.
      const isKept = hasRoom(found.size);
      const kept = isKept ? attempt(() => copy(at, path)) : undefined;
      const out = isKept && kept === undefined ? moved(at, () => nextName(path)) : undefined;
      if (out === undefined) unlinkSync(toBytes(at.path));
      return kept ?? out;
    },
    copy(at, path) {
      return hasRoom(stateOf(at.path)?.size ?? 0) ? attempt(() => copy(at, path)) : undefined;
    },
    *settle() {
      const left: string[] = [];
      for (const { root, path } of unkept) if (!(yield* removeTree(root, path))) left.push(path);
      const dropped = new Set<string>();
      for (const tree of trees) {
        const { bytes } = yield* sizeOf(tree, { bytes: room, entries: quota.entriesOfRun });
        if (hasRoom(bytes)) continue;
        dropped.add(tree);
        yield* removeTree(directory, tree);
      }
      if (own !== undefined) yield* trimKept(directory, quota, own);
      return { dropped, left };
    },
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

/** Directories, sockets, and what is too large. Undefined on another file system. */
function moved(at: Anchored, nextName: () => string): string | undefined {
  return attempt(() => {
    const target = nextName();
    renameSync(toBytes(at.path), target);
    return target;
  });
}

/** A name that nobody looks for, until it is removed. */
function setAside(at: Anchored, path: string): string {
  const aside = `.palyra-kept-${randomBytes(8).toString('hex')}`;
  renameSync(toBytes(at.path), toBytes(at.beside(aside)));
  return join(dirname(path), aside);
}
