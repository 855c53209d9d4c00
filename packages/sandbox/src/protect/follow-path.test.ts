import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { followPath } from './follow-path.ts';

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
