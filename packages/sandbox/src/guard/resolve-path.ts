import { posix } from 'node:path';
import type { FileLook, ProgramFiles } from './program-files.ts';

/** Where a path leads once every link on the way is followed, as the kernel does it. */
export type ResolvedPath =
  | {
      readonly kind: 'found';
      readonly path: string;
      readonly look: Exclude<FileLook, { kind: 'absent' | 'unreadable' | 'link' }>;
      /** Every link that was followed, absolute, in order. */
      readonly links: readonly string[];
    }
  /** `path` is where it would be made: a dangling link's target, or a leaf below a resolved directory. */
  | { readonly kind: 'absent'; readonly path: string; readonly links: readonly string[] }
  | { readonly kind: 'unresolvable'; readonly reason: 'loop' | 'unreadable' | 'process_link' };

/** As many as Linux follows. */
const MOST_LINKS = 40;

/** `path` is absolute. `..` leaves the directory that a link led to, not the one that the link lies in. */
export function resolvePath(path: string, files: Pick<ProgramFiles, 'look'>): ResolvedPath {
  const ahead = segmentsOf(path).toReversed();
  const links: string[] = [];
  let here = '/';
  let look = files.look(here);
  for (let segment = ahead.pop(); segment !== undefined; segment = ahead.pop()) {
    if (segment === '..') {
      here = posix.dirname(here);
      look = files.look(here);
      continue;
    }
    const next = posix.join(here, segment);
    // SECURITY: T-12 — /proc/self/root, /proc/1/cwd, /proc/self/fd/3: read here, they would lead where they lead for
    // this process and not for the tool.
    if (PROCESS_DIRECTORY.test(next)) return { kind: 'unresolvable', reason: 'process_link' };

    const found = cannotExist(look, segment) ? ABSENT : files.look(next);
    if (found.kind === 'unreadable') return { kind: 'unresolvable', reason: 'unreadable' };
    if (found.kind !== 'link') {
      here = next;
      look = found;
      continue;
    }
    links.push(next);
    if (links.length > MOST_LINKS) return { kind: 'unresolvable', reason: 'loop' };
    if (found.target.startsWith('/')) here = '/';
    ahead.push(...segmentsOf(found.target).toReversed());
    look = files.look(here);
  }
  if (look.kind === 'unreadable') return { kind: 'unresolvable', reason: 'unreadable' };
  if (look.kind === 'absent' || look.kind === 'link') return { kind: 'absent', path: here, links };
  return { kind: 'found', path: here, look, links };
}

/** Both are resolved paths. */
export function isWithin(path: string, directory: string): boolean {
  return path === directory || path.startsWith(directory.endsWith('/') ? directory : `${directory}/`);
}

const ABSENT: FileLook = { kind: 'absent' };

/** No file system has longer names, and nothing lies below nothing. */
function cannotExist(above: FileLook, segment: string): boolean {
  return above.kind === 'absent' || Buffer.byteLength(segment) > 255;
}

const PROCESS_DIRECTORY = /^\/proc\/(?:self|thread-self|\d+)$/;

function segmentsOf(path: string): string[] {
  return path.split('/').filter((segment) => segment !== '' && segment !== '.');
}
