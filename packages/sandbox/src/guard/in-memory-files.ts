import { createHash } from 'node:crypto';
import { posix } from 'node:path';
import type { FileLook, ProgramFiles } from './program-files.ts';

/** For tests: `-> target` is a link, `= path` another name of the same file, `/` a directory, all else a file's content. */
export type FileTree = Readonly<Record<string, string>>;

export function createInMemoryFiles(tree: FileTree, searchPath: readonly string[] = ['/usr/bin']): ProgramFiles {
  const paths = Object.keys(tree);
  const inodeOf = (path: string): number => {
    const content = tree[path];
    return content?.startsWith('= ') === true ? inodeOf(content.slice(2)) : paths.indexOf(path) + 2;
  };
  const contentOf = (path: string): string | undefined => {
    const content = Object.hasOwn(tree, path) ? tree[path] : undefined;
    return content?.startsWith('= ') === true ? contentOf(content.slice(2)) : content;
  };
  const bytesOf = (path: string) => {
    const content = contentOf(path);
    return content === undefined ? undefined : new TextEncoder().encode(content);
  };
  return {
    searchPath,
    look(path): FileLook {
      const content = contentOf(path);
      const size = BigInt(content?.length ?? 0);
      const stamp = { device: 1n, inode: BigInt(inodeOf(path)), size, modified: 0n, changed: 0n };
      if (content === '/' || isAbove(path, paths)) return { kind: 'directory', ...stamp };
      if (content === undefined) return { kind: 'absent' };
      if (content === 'unreadable') return { kind: 'unreadable' };
      return content.startsWith('-> ') ? { kind: 'link', target: content.slice(3) } : { kind: 'file', ...stamp };
    },
    firstBytes: (path, count) => bytesOf(path)?.subarray(0, count),
    sha256(path) {
      const bytes = bytesOf(path);
      return bytes === undefined ? undefined : createHash('sha256').update(bytes).digest('hex');
    },
    list: (path) => paths.filter((known) => posix.dirname(known) === path).map((known) => posix.basename(known)),
  };
}

function isAbove(path: string, paths: readonly string[]): boolean {
  return path === '/' || paths.some((known) => known.startsWith(`${path}/`));
}
