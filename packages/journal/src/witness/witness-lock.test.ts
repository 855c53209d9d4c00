import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Clock } from '@palyra/primitives';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { holdLock } from './witness-lock.ts';

let directory = '';
let path = '';
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'palyra-lock-'));
  path = join(directory, 'x.lock');
});
afterEach(() => rmSync(directory, { recursive: true }));

const HELD: unknown = expect.objectContaining({ code: 'journal.witness_store' });
const laterBy = (milliseconds: number): Clock => {
  const now = statSync(path).mtimeMs + milliseconds;
  return { now: () => now, sleep: () => Promise.resolve() };
};

/** The lock of a process, as it would have written it itself. */
function lockOf(pid: number): string {
  const release = holdLock(path);
  const [, start, ...where] = readFileSync(path, 'utf8').split(' ');
  release();
  return [pid, start, ...where].join(' ');
}

test('is held once, and free afterwards', () => {
  const release = holdLock(path);
  expect(() => holdLock(path)).toThrow(HELD);
  release();
  holdLock(path)();
  expect(readdirSync(directory)).toEqual([]);
});

test('of a process that was killed is taken over', () => {
  const { pid } = spawnSync(process.execPath, ['--version']);
  writeFileSync(path, lockOf(pid));
  const release = holdLock(path);
  expect(readFileSync(path, 'utf8')).toMatch(new RegExp(`^${process.pid} `));
  release();
  expect(existsSync(path)).toBe(false);
});

test('of a process whose number another one has by now is taken over', () => {
  writeFileSync(path, lockOf(process.pid).replace(/^(\d+) \d+ /, '$1 1 '));
  holdLock(path)();
  expect(readdirSync(directory)).toEqual([]);
});

test.each(['', '1 2', '99999999 5 another-machine pid:[1]\n'])(
  'of somebody who cannot be looked up ("%s") is taken over only after ten minutes',
  (text) => {
    writeFileSync(path, text);
    expect(() => holdLock(path, laterBy(599_000))).toThrow(HELD);
    expect(readFileSync(path, 'utf8')).toBe(text);
    holdLock(path, laterBy(601_000))();
    expect(readdirSync(directory)).toEqual([]);
  },
);

test('is not taken over while somebody else is doing so', () => {
  writeFileSync(path, lockOf(process.pid).replace(/^(\d+) \d+ /, '$1 1 '));
  writeFileSync(`${path}.takeover`, '');
  expect(() => holdLock(path)).toThrow(HELD);
});
