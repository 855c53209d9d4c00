import { lstatSync, readlinkSync } from 'node:fs';
import { isAbsolute } from 'node:path';
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

export type FollowPath = (path: string) => Followed;

/** What was found at one name, and at those below it. */
interface Known {
  readonly below: Map<string, Known>;
  /** Of a link. */
  readonly target: string | undefined;
}

/** Where one path leads. */
export function followPath(path: string, roots: readonly string[]): Followed {
  return createFollower(roots)(path);
}

/**
 * Where paths lead, and by which links: name by name, as the kernel does it, for `link/..` is not where it stands.
 * Below one of the roots, which are no links themselves, only what is below is looked at.
 *
 * SECURITY: T-39 — each name is looked at once: a tool may have thousands of pointers lead a thousand directories deep.
 */
export function createFollower(roots: readonly string[]): FollowPath {
  const top: Known = { below: new Map(), target: undefined };
  return (path) => {
    const start = roots.find((root) => isAtOrBelow(path, root)) ?? '';
    const names = start.split('/').slice(1);
    const way: (Known | undefined)[] = wayTo(names, top);
    const waiting = path.slice(start.length).split('/').toReversed();
    const links: string[] = [];
    for (let name = waiting.pop(); name !== undefined; name = waiting.pop()) {
      if (name === '' || name === '.') continue;
      if (name === '..') {
        if (names.pop() !== undefined) way.pop();
        continue;
      }
      names.push(name);
      const found = lookBelow(way.at(-1), names);
      const target = links.length < MOST_LINKS ? found?.target : undefined;
      if (target === undefined) {
        way.push(found);
        continue;
      }
      links.push(pathOf(names));
      names.pop();
      if (target.startsWith('/')) names.length = 0;
      way.length = names.length + 1;
      waiting.push(...target.split('/').toReversed());
    }
    return { links, end: names.length === 0 ? '/' : pathOf(names) };
  };
}

function wayTo(names: readonly string[], top: Known): Known[] {
  const way = [top];
  for (const name of names) {
    const above = way.at(-1) ?? top;
    const known = above.below.get(name) ?? { below: new Map(), target: undefined };
    above.below.set(name, known);
    way.push(known);
  }
  return way;
}

/** Below what is not there is nothing. What is missing is not remembered: a tool can name as much of that as it likes. */
function lookBelow(above: Known | undefined, names: readonly string[]): Known | undefined {
  const name = names.at(-1) ?? '';
  const known = above?.below.get(name) ?? (above === undefined ? undefined : lookAt(pathOf(names)));
  if (known !== undefined) above?.below.set(name, known);
  return known;
}

function pathOf(names: readonly string[]): string {
  return `/${names.join('/')}`;
}

/** Not tidied: what `..` means depends on the links before it. */
export function pathFrom(directory: string, named: string): string {
  return isAbsolute(named) ? named : `${directory}/${named}`;
}

function lookAt(path: string): Known | undefined {
  try {
    const bytes = toBytes(path);
    const found = lstatSync(bytes, { throwIfNoEntry: false });
    if (found === undefined) return undefined;
    const target = found.isSymbolicLink() ? fromBytes(readlinkSync(bytes, 'buffer')) : undefined;
    return { below: new Map(), target };
  } catch (error) {
    if (isFileError(error)) return undefined;
    throw error;
  }
}
