import { mkdirSync, mkdtempSync, realpathSync, renameSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { createFollower, followPath } from './follow-path.ts';

let base: string;

beforeEach(() => {
  base = realpathSync(mkdtempSync(join(tmpdir(), 'palyra-follow-')));
});

afterEach(() => {
  rmSync(base, { recursive: true });
});

const at = (path: string) => `${base}/${path}`;

it('names every link on the way, and where it ends', () => {
  mkdirSync(at('real/deep'), { recursive: true });
  symlinkSync('real', at('one'));
  symlinkSync(at('one/deep'), at('two'));
  symlinkSync('two/../x', at('three'));
  expect(followPath(at('three'), [base])).toEqual({
    links: [at('three'), at('two'), at('one')],
    // Above where the link leads, not above where it stands.
    end: at('real/x'),
  });
});

it('follows what is not there as far as it goes', () => {
  expect(followPath(at('a/../b/./c'), [base])).toEqual({ links: [], end: at('b/c') });
});

it('comes to an end in a circle', () => {
  symlinkSync('b', at('a'));
  symlinkSync('a', at('b'));
  expect(followPath(at('a'), [base]).links).toHaveLength(40);
});

it('leads out of the roots, and back', () => {
  mkdirSync(at('in'));
  symlinkSync(at('in'), at('back'));
  symlinkSync('../back/x', at('in/out'));
  expect(followPath(at('in/out'), [at('in')])).toEqual({ links: [at('in/out'), at('back')], end: at('in/x') });
});

it('says the same of each path whatever it followed before', () => {
  mkdirSync(at('real/deep'), { recursive: true });
  symlinkSync('real', at('one'));
  symlinkSync('missing/../one', at('two'));
  symlinkSync('deep/up', at('real/down'));
  symlinkSync('../..', at('real/deep/up'));
  const names = [
    'one',
    'two',
    'real',
    'real/down',
    'one/deep/up/two/down',
    'missing/one',
    'two/../x',
    '../y',
    'one/..',
  ];
  const follow = createFollower([base]);
  const paths = [...names, ...names].map(at);
  expect(paths.map(follow)).toEqual(paths.map((path) => followPath(path, [base])));
});

// T-39: thousands of pointers that lead a thousand directories deep were looked at for many minutes, before and after each command.
it('looks once at what is there, and again at what was not', () => {
  mkdirSync(at('real'));
  const follow = createFollower([base]);
  const ends = () => [follow(at('real/x')).end, follow(at('later/x')).end];
  expect(ends()).toEqual([at('real/x'), at('later/x')]);
  renameSync(at('real'), at('other'));
  symlinkSync('other', at('real'));
  symlinkSync('other', at('later'));
  expect(ends()).toEqual([at('real/x'), at('other/x')]);
});
