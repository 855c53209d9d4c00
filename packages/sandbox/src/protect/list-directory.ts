import { type Dirent, lstatSync, readdirSync } from 'node:fs';
import { isFileError, stateOf } from './anchored-files.ts';
import { listing } from './listing.ts';
import { isOfInterest, type Listed, type Look, lookIntoDirectory, type Surroundings } from './look-into-directory.ts';
import { fromBytes, toBytes } from './path-bytes.ts';

/** The same as long as nothing was made, removed or renamed in it. */
export interface DirectoryStamp {
  readonly device: number;
  readonly inode: number;
  readonly changedAtMs: number;
  readonly mode: number;
  readonly uid: number;
  readonly size: number;
}

/**
 * Undefined when there is none. Asked of every directory of a workspace, so it is as little as is enough: the time is
 * good for a quarter of a microsecond, and what is younger than a tick of the clock is looked at again anyway.
 */
export function stampOf(path: string): DirectoryStamp | 'out of reach' | undefined {
  try {
    const found = lstatSync(toBytes(path), NO_THROW);
    if (found?.isDirectory() !== true) return undefined;
    const { dev: device, ino: inode, ctimeMs: changedAtMs, mode, uid, size } = found;
    return { device, inode, changedAtMs, mode, uid, size };
  } catch (error) {
    if (isFileError(error)) return 'out of reach';
    throw error;
  }
}

const NO_THROW = { throwIfNoEntry: false } as const;

export function isSameStamp(one: DirectoryStamp, other: DirectoryStamp): boolean {
  return one.inode === other.inode && one.changedAtMs === other.changedAtMs && one.device === other.device;
}

/** Larger ones are listed in parts: some ten thousand names take as long as everybody else can wait. */
const LARGE = 256 * 1024;

export interface Place extends Omit<Surroundings, 'isSame'> {
  /** Of the directory itself. */
  readonly size: number;
  readonly mostDirectories: number;
}

/** Undefined when it cannot be read. */
export function* lookInto(place: Place): Generator<undefined, Look | undefined> {
  const { path, node, isBulk, size } = place;
  const entries = size > LARGE ? yield* listedInParts(place) : listed(path);
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

/** Only what counts is kept, and of directories as many as are looked into. */
function* listedInParts({ path, node, mostDirectories }: Place): Generator<undefined, readonly Listed[] | undefined> {
  const found: Listed[] = [];
  try {
    for (const each of listing(path)) {
      yield undefined;
      const entry = asListed(each, fromBytes(Buffer.from(each.name, 'latin1')));
      if (!isOfInterest(entry, node)) continue;
      if (found.push(entry) > mostDirectories) break;
    }
    return found;
  } catch (error) {
    if (isFileError(error)) return undefined;
    throw error;
  }
}

function asListed(found: Dirent | Dirent<Buffer>, name: string): Listed {
  return { name, kind: found.isDirectory() ? 'directory' : found.isSymbolicLink() ? 'link' : 'file' };
}
