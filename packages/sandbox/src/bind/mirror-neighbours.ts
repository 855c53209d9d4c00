import { posix } from 'node:path';

export interface PlacedLink {
  readonly at: string;
  readonly target: string;
}

/** bubblewrap takes links as arguments, and there is an end to these: to their number and to their length. */
export interface LinkRoom {
  readonly links: number;
  readonly bytes: number;
}

export interface MirrorQuestion {
  /** Of the original: where its mount begins, and itself. */
  readonly root: string;
  readonly path: string;
  /** Where the copy of `root` would be. */
  readonly copyRoot: string;
  readonly most: LinkRoom;
  /** Names in a directory that the tool could list. */
  readonly list: (directory: string) => readonly string[];
}

/**
 * Links to whatever lies beside the original, in its directory and in those above it, so that `./lib` and `../lib` are found from
 * the copy too. They bind nothing. A directory with too many names is left out as a whole, the nearest ones come first.
 */
export function mirrorNeighbours({ root, path, copyRoot, most, list }: MirrorQuestion): readonly PlacedLink[] {
  const links: PlacedLink[] = [];
  let bytes = 0;
  for (let at = path; at !== root && at !== '/'; at = posix.dirname(at)) {
    const directory = posix.dirname(at);
    const names = list(directory).filter((name) => name !== posix.basename(at) && isNameable(name));
    const copy = posix.join(copyRoot, posix.relative(root, directory));
    const found = names.toSorted().map((name) => ({ at: `${copy}/${name}`, target: posix.join(directory, name) }));
    const length = bytesOf(found);
    if (links.length + found.length > most.links || bytes + length > most.bytes) continue;
    links.push(...found);
    bytes += length;
  }
  return links;
}

export function bytesOf(links: readonly PlacedLink[]): number {
  return links.reduce((sum, { at, target }) => sum + Buffer.byteLength(at) + Buffer.byteLength(target), 0);
}

/** What is no UTF-8 has another name by now. */
function isNameable(name: string): boolean {
  return name !== '' && name.length < 256 && !/[\0/\uFFFD]/.test(name);
}
