import { dirname } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { FileFacts } from '../survey/survey-files.ts';
import { mayUse, standsFast } from './tool-rights.ts';

type Tree = Readonly<Record<string, readonly [uid: number, mode: number, kind?: FileFacts['kind'], gid?: number]>>;

/** Directories above are root's, of mode 0755, unless they are listed. */
const filesOf = (tree: Tree) => ({
  lstat(path: string): FileFacts | undefined {
    const isAbove = Object.keys(tree).some((known) => path === '/' || known.startsWith(`${path}/`));
    const found = tree[path] ?? (isAbove ? ([0, 0o755, 'directory'] as const) : undefined);
    if (found === undefined) return undefined;
    const [uid, mode, kind = isAbove ? 'directory' : 'file', gid = uid] = found;
    return { uid, gid, mode, kind };
  },
});

describe('standsFast', () => {
  it.each<[string, Tree, boolean]>([
    ['a file of root', { '/usr/bin/git': [0, 0o755] }, true],
    ['a link of root', { '/usr/bin/sh': [0, 0o777, 'link'] }, true],
    ['a file that is not there', {}, false],
    ['a file of somebody', { '/usr/bin/git': [1000, 0o755] }, false],
    ['a file that a group may write, or an access list', { '/usr/bin/git': [0, 0o775] }, false],
    ['a file that all may write', { '/usr/bin/git': [0, 0o757] }, false],
    ['a directory of somebody above', { '/usr/bin': [1000, 0o755], '/usr/bin/git': [0, 0o755] }, false],
    ['a directory above that all may write', { '/usr': [0, 0o777], '/usr/bin/git': [0, 0o755] }, false],
    ['a sticky directory above', { '/usr': [0, 0o1777], '/usr/bin/git': [0, 0o755] }, true],
    ['a sticky file', { '/usr/bin/git': [0, 0o1777] }, false],
  ])('of %s', (_name, tree, expected) => {
    const [path = '/usr/bin/git'] = Object.keys(tree).filter((name) => dirname(name) === '/usr/bin');
    expect(standsFast(path, filesOf(tree))).toBe(expected);
  });
});

describe('mayUse', () => {
  const rights = { uid: 1000, gid: 1000, groups: [50] };
  const at = (tree: Tree, isMapped = false) => ({ root: '/work', isMapped, rights, files: filesOf(tree) });

  it.each<[string, Tree, boolean]>([
    ['its own', { '/work/a/x': [1000, 0o400] }, true],
    ['its own, closed', { '/work/a/x': [1000, 0o044] }, false],
    ["its group's", { '/work/a/x': [0, 0o040, 'file', 1000] }, true],
    ['that of another group', { '/work/a/x': [0, 0o040, 'file', 50] }, true],
    ["everybody's", { '/work/a/x': [0, 0o604] }, true],
    ["root's alone", { '/work/a/x': [0, 0o600] }, false],
    ['what lies in a closed directory', { '/work/a': [0, 0o700], '/work/a/x': [1000, 0o600] }, false],
    ['what lies in a workspace below a closed directory', { '/': [0, 0o700], '/work/a/x': [1000, 0o600] }, true],
  ])('reads %s', (_name, tree, expected) => {
    expect(mayUse('/work/a/x', 'read', at(tree))).toBe(expected);
  });

  it("takes root's files for its own where they are mapped", () => {
    expect(mayUse('/work/a/x', 'read', at({ '/work/a/x': [0, 0o600] }, true))).toBe(true);
    expect(mayUse('/work/a/x', 'execute', at({ '/work/a/x': [0, 0o600] }, true))).toBe(false);
  });
});
