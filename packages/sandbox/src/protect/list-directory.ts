import { type Dirent, lstatSync, readdirSync } from 'node:fs';
import { isFileError, stateOf } from './anchored-files.ts';
import { type Listed, type Look, lookIntoDirectory, type Surroundings } from './look-into-directory.ts';
import { fromBytes, toBytes } from './path-bytes.ts';

/** The same as long as nothing was made, removed or renamed in it. */
export interface DirectoryStamp {
  readonly device: number;
  readonly inode: number;
  readonly changedAtMs: number;
}

/**
 * Undefined when there is none. Asked of every directory of a workspace, so it is as little as is enough: the time is
 * good for a quarter of a microsecond, and what is younger than a tick of the clock is looked at again anyway.
 */
export function stampOf(path: string): DirectoryStamp | 'out of reach' | undefined {
  try {
    const found = lstatSync(toBytes(path), NO_THROW);
    if (found?.isDirectory() !== true) return undefined;
    return { device: found.dev, inode: found.ino, changedAtMs: found.ctimeMs };
  } catch (error) {
    if (isFileError(error)) return 'out of reach';
    throw error;
  }
}

const NO_THROW = { throwIfNoEntry: false } as const;

export function isSameStamp(one: DirectoryStamp, other: DirectoryStamp): boolean {
  return one.inode === other.inode && one.changedAtMs === other.changedAtMs && one.device === other.device;
}

/** Undefined when it cannot be read. */
export function lookInto({ path, node, isBulk }: Omit<Surroundings, 'isSame'>): Look | undefined {
  const entries = listed(path);
  if (entries === undefined) return undefined;
  const isSame = (one: string, other: string) => {
    const [first, second] = [identityOf(`${path}/${one}`), identityOf(`${path}/${other}`)];
    return first === second && first !== 'gone';
  };
  return lookIntoDirectory(entries, { path, node, isBulk, isSame });
}

/** The same as long as it is the same file, whatever it is called. */
export function identityOf(path: string): string {
  return stateOf(path)?.stamp.split('-').slice(0, 2).join('-') ?? 'gone';
}

function listed(path: string): readonly Listed[] | undefined {
  try {
    const at = toBytes(path);
    const found = readdirSync(at, { withFileTypes: true });
    // Twice only where it is needed: text takes half as long.
    if (!found.some(({ name }) => name.includes('\ufffd'))) return found.map((each) => asListed(each, each.name));
    const exact = readdirSync(at, { withFileTypes: true, encoding: 'buffer' });
    return exact.map((each) => asListed(each, fromBytes(each.name)));
  } catch (error) {
    if (isFileError(error)) return undefined;
    throw error;
  }
}

function asListed(found: Dirent | Dirent<Buffer>, name: string): Listed {
  return { name, kind: found.isDirectory() ? 'directory' : found.isSymbolicLink() ? 'link' : 'file' };
}
