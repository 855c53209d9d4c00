import { chmodSync, lstatSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { checkHome, ensureHome } from './ensure-home.ts';
import { type HomeLayout, homeLayout } from './home-layout.ts';

let directory = '';
let home: HomeLayout = homeLayout('/not-yet');

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'palyra-home-'));
  home = homeLayout(join(directory, 'deep', 'home'));
});

afterEach(() => rmSync(directory, { recursive: true }));

test('a missing home is made for this user alone, whatever the umask, and found safe afterwards', () => {
  const umask = process.umask(0);
  try {
    expect(checkHome(home)).toBe('absent');
    ensureHome(home);
  } finally {
    process.umask(umask);
  }
  expect(lstatSync(home.root).mode & 0o777).toBe(0o700);
  expect(checkHome(home)).toBe('safe');
  ensureHome(home);
});

test.each(['755', '701', '710', '770', '777'])(
  'a home with mode %s is refused with the command that mends it',
  (mode) => {
    ensureHome(home);
    chmodSync(home.root, Number.parseInt(mode, 8));
    expect(() => ensureHome(home)).toThrow(
      expect.objectContaining({
        code: 'config.unsafe_home',
        message: `The home ${home.root} is open to other users (mode 0${mode}).`,
        fix: `Run: chmod 700 ${home.root}`,
      }),
    );
  },
);

test('a home that is a symbolic link is refused, also to a safe directory and also to nothing', () => {
  mkdirSync(join(directory, 'real'), { mode: 0o700 });
  mkdirSync(join(directory, 'deep'));
  symlinkSync('../real', home.root);
  expect(() => ensureHome(home)).toThrow(expect.objectContaining({ code: 'config.unsafe_home' }));
  rmSync(join(directory, 'real'), { recursive: true });
  expect(() => ensureHome(home)).toThrow(expect.objectContaining({ code: 'config.unsafe_home' }));
});

test('a home that is a file, or below a file, is refused', () => {
  mkdirSync(join(directory, 'deep'));
  writeFileSync(home.root, '');
  expect(() => ensureHome(home)).toThrow(expect.objectContaining({ code: 'config.unsafe_home' }));
  expect(() => ensureHome(homeLayout(join(home.root, 'below')))).toThrow(
    expect.objectContaining({ code: 'config.invalid_home' }),
  );
});
