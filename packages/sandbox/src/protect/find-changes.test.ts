import { expect, test } from 'vitest';
import { driveNow } from './drive-steps.ts';
import { findChanges } from './find-changes.ts';
import type { Entry } from './read-entries.ts';
import type { Scan } from './scan-tree.ts';

/** Counts how often somebody goes through all of it. */
class CountedMap extends Map<string, Entry> {
  walks = 0;
  override values(): MapIterator<Entry> {
    this.walks += 1;
    return super.values();
  }
}

function config(path: string, bytes: Buffer | undefined): Entry {
  const state = { kind: 'file', mode: 0o644, uid: 1, gid: 1, links: 1, changedAtMs: 1, size: 1, stamp: '1' } as const;
  const name = { path, root: '/work', within: 'config', rule: 'config', reason: 'Git.' } as const;
  return { ...state, ...name, bytes, target: undefined, readAtMs: 1 };
}

function scanOf(entries: ReadonlyMap<string, Entry>, overfull: ReadonlyMap<string, Entry>): Scan {
  const nothing = new Set<string>();
  const rest = { gitDirectories: nothing, gitTargets: nothing, older: nothing, unlooked: nothing };
  return { ...rest, entries, overfull, sightings: [], ledTo: [], bulk: new Map() };
}

function overfilled(paths: readonly string[], lost: readonly string[] = []) {
  const all = new Map(paths.map((path) => [path, config(path, Buffer.from('[core]'))]));
  const before = new CountedMap([...all, ...lost.map((path) => [path, config(path, undefined)] as const)]);
  const [was, is] = [scanOf(before, new Map()), scanOf(all, all)];
  const comparison = { before: was, after: is, roots: ['/work'], lifted: [], realPath: (path: string) => path };
  const changes = driveNow(findChanges(comparison));
  return { whole: changes.filter(({ isWhole }) => isWhole).map(({ path }) => path), walks: before.walks };
}

const repositories = (count: number) => Array.from({ length: count }, (_, at) => `/work/${at}/config`);

// T-39: a tool that has ten thousand repositories made, and then too much in each, must not hold up the daemon for seconds.
test('what there is too much of goes as a whole, and all the rest is not gone through for each', () => {
  const [few, many] = [overfilled(repositories(2)), overfilled(repositories(200))];
  expect([few.whole.length, many.whole.length]).toEqual([2, 200]);
  expect(many.walks).toBe(few.walks);
});

test('it stays where something at it, or deep in it, could not be made again', () => {
  const paths = ['/work/a/hooks', '/work/b/hooks', '/work/hooks'];
  expect(overfilled(paths, ['/work/a/hooks/x/y', '/work/b/hooks']).whole).toEqual(['/work/hooks']);
});
