import { mkdirSync, mkdtempSync, realpathSync, renameSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createWorkspaceLook } from './look-at-workspace.ts';

let top = '';
let now = 0;
const at = (path: string) => join(top, path);

beforeEach(() => {
  top = realpathSync(mkdtempSync(join(tmpdir(), 'palyra-look-')));
  now = 1_000_000;
  for (const each of ['home/.ssh', 'home/.palyra', 'shop/src', 'other']) mkdirSync(at(each), { recursive: true });
});
afterEach(() => rmSync(top, { recursive: true, force: true }));

const lookHere = () =>
  createWorkspaceLook({ operator: { home: at('home'), palyraHome: at('home/.palyra') }, now: () => now });
const HOLDS_CREDENTIALS = {
  kind: 'refused',
  message: 'The workspace holds, or lies in, a place of credentials.',
  fix: 'Name the directory of one project.',
};

test('what lies around a directory counts for a second, and no longer', () => {
  const look = lookHere();
  expect(look(at('shop'))).toEqual({ kind: 'ok', root: at('shop') });
  symlinkSync(at('shop/src'), at('home/.aws'));
  now += 999;
  expect(look(at('shop'))).toEqual({ kind: 'ok', root: at('shop') });
  now += 1;
  expect(look(at('shop'))).toEqual(HOLDS_CREDENTIALS);
  // A no is never remembered.
  rmSync(at('home/.aws'));
  expect(look(at('shop'))).toEqual({ kind: 'ok', root: at('shop') });
});

test('SECURITY: T-41 — a clock that was set back makes no answer younger', () => {
  const look = lookHere();
  expect(look(at('shop')).kind).toBe('ok');
  symlinkSync(at('shop/src'), at('home/.aws'));
  now -= 60_000;
  expect(look(at('shop'))).toEqual(HOLDS_CREDENTIALS);
});

test('SECURITY: T-14 — what is at its place is looked at each time', () => {
  const look = lookHere();
  expect(look(at('shop')).kind).toBe('ok');
  renameSync(at('shop'), at('moved'));
  expect(look(at('shop'))).toMatchObject({ kind: 'refused', message: 'The workspace is not a directory.' });
  symlinkSync(at('other'), at('shop'));
  expect(look(at('shop'))).toEqual({ kind: 'ok', root: at('other') });
  rmSync(at('shop'));
  symlinkSync(at('home/.ssh'), at('shop'));
  expect(look(at('shop'))).toEqual(HOLDS_CREDENTIALS);
});

test('SECURITY: T-14 — another directory at its place is another one', () => {
  const look = lookHere();
  expect(look(at('shop')).kind).toBe('ok');
  renameSync(at('shop'), at('moved'));
  mkdirSync(at('shop/keys'), { recursive: true });
  symlinkSync(at('shop/keys'), at('home/.aws'));
  expect(look(at('shop'))).toEqual(HOLDS_CREDENTIALS);
});

test('of those that somebody names only so many are known', () => {
  const look = lookHere();
  expect(look(at('shop')).kind).toBe('ok');
  symlinkSync(at('shop/src'), at('home/.aws'));
  for (let each = 0; each < 64; each += 1) {
    mkdirSync(at(`other/${each}`));
    expect(look(at(`other/${each}`)).kind).toBe('ok');
  }
  expect(look(at('shop'))).toEqual(HOLDS_CREDENTIALS);
});

test('what cannot be looked at is refused with a reason', () => {
  const look = lookHere();
  for (const path of ['/etc/passwd/x', `/${'x'.repeat(5000)}`, '/a\0b']) {
    expect(look(path)).toMatchObject({ kind: 'refused', message: 'The workspace is not a directory.' });
  }
});
