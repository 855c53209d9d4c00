import { lstatSync, readlinkSync } from 'node:fs';
import { dirname, isAbsolute } from 'node:path';
import { isAtOrBelow } from '../survey/survey-files.ts';
import { isFileError } from './anchored-files.ts';
import { fromBytes, toBytes } from './path-bytes.ts';

export interface Followed {
  /** Every link that was followed, at its own real path. */
  readonly links: readonly string[];
  /** No link any more. There need not be anything. */
  readonly end: string;
}

/** As many as the kernel follows. */
const MOST_LINKS = 40;

/**
 * Where a path leads, and by which links: name by name, as the kernel does it, for `link/..` is not where it stands.
 * Below one of the roots, which are no links themselves, only what is below is looked at.
 */
export function followPath(path: string, roots: readonly string[]): Followed {
  const start = roots.find((root) => isAtOrBelow(path, root)) ?? '';
  const waiting = path.slice(start.length).split('/').toReversed();
  const links: string[] = [];
  let at = start;
  for (let name = waiting.pop(); name !== undefined; name = waiting.pop()) {
    if (name === '' || name === '.') continue;
    if (name === '..') {
      at = at === '' ? '' : dirname(at).replace(/^\/$/, '');
      continue;
    }
    const next = `${at}/${name}`;
    const target = links.length < MOST_LINKS ? targetOf(next) : undefined;
    if (target === undefined) {
      at = next;
      continue;
    }
    links.push(next);
    if (target.startsWith('/')) at = '';
    waiting.push(...target.split('/').toReversed());
  }
  return { links, end: at === '' ? '/' : at };
}

/** Not tidied: what `..` means depends on the links before it. */
export function pathFrom(directory: string, named: string): string {
  return isAbsolute(named) ? named : `${directory}/${named}`;
}

function targetOf(path: string): string | undefined {
  try {
    const bytes = toBytes(path);
    if (lstatSync(bytes, { throwIfNoEntry: false })?.isSymbolicLink() !== true) return undefined;
    return fromBytes(readlinkSync(bytes, 'buffer'));
  } catch (error) {
    if (isFileError(error)) return undefined;
    throw error;
  }
}
