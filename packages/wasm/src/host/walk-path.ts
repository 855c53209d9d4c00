import type { DirectoryNode, VirtualNode } from './virtual-files.ts';
import { fault } from './wasi-errno.ts';

export interface Place {
  /** Undefined when the path ends in `.` or `..`, which are names of nothing. */
  readonly parent: DirectoryNode | undefined;
  readonly name: string;
  /** Undefined: there is nothing of that name, and there could be. */
  readonly node: VirtualNode | undefined;
  /** The path ends in a slash: it can only be a directory. */
  readonly isDirectoryPath: boolean;
}

const MOST_LINKS = 40;
const MOST_PATH = 4096;
const MOST_NAME = 255;

/**
 * Where a path leads from a directory. SECURITY: T-14, T-27 — never out of that directory: not by `..`, not by an absolute path, not by
 * a link to either. Throws `WasiFault`.
 */
export function walkPath(start: DirectoryNode, path: string, follow: boolean): Place {
  if (path === '') throw fault('noent');
  if (path.startsWith('/')) throw fault('perm');
  if (path.length > MOST_PATH) throw fault('nametoolong');
  const above: DirectoryNode[] = [start];
  let rest = path.split('/').filter(isName);
  let isDirectoryPath = endsInDirectory(path);
  let links = 0;
  let here: DirectoryNode = start;
  while (rest.length > 0) {
    const name = rest.shift() as string;
    const isLast = rest.length === 0;
    if (name.length > MOST_NAME) throw fault('nametoolong');
    if (name === '..') {
      above.pop();
      const parent = above.at(-1);
      if (parent === undefined) throw fault('perm');
      here = parent;
      continue;
    }
    const node = here.entries.get(name)?.node;
    if (node === undefined) {
      if (!isLast) throw fault('noent');
      return { parent: here, name, node, isDirectoryPath };
    }
    if (node.kind === 'link' && (!isLast || follow || isDirectoryPath)) {
      links += 1;
      if (links > MOST_LINKS) throw fault('loop');
      if (node.target.startsWith('/')) throw fault('perm');
      if (isLast && endsInDirectory(node.target)) isDirectoryPath = true;
      rest = [...node.target.split('/').filter(isName), ...rest];
      continue;
    }
    if (isLast) return found({ parent: here, name, node, isDirectoryPath });
    if (node.kind !== 'directory') throw fault('notdir');
    above.push(node);
    here = node;
  }
  return { parent: undefined, name: '.', node: here, isDirectoryPath: true };
}

function found(place: Place): Place {
  if (place.isDirectoryPath && place.node?.kind !== 'directory') throw fault('notdir');
  return place;
}

function isName(part: string): boolean {
  return part !== '' && part !== '.';
}

function endsInDirectory(path: string): boolean {
  return /(?:^|\/)\.{0,2}$/.test(path) && path !== '';
}
