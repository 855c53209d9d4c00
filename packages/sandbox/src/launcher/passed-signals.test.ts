import { readFileSync } from 'node:fs';
import { constants } from 'node:os';
import { expect, test } from 'vitest';
import { encodeSignal, isPassedSignal, PASSED_SIGNALS, type PassedSignal } from './passed-signals.ts';

const names = Object.keys(PASSED_SIGNALS) as readonly PassedSignal[];

test('the list is the one that the launcher has, and so are its numbers', () => {
  const source = readFileSync(new URL('../../native/request.c', import.meta.url), 'utf8');
  const list = /PASSED_SIGNALS\[\] = \{(.*?)\}/.exec(source)?.[1] ?? '';
  expect(list.split(', ')).toEqual(names);
});

test.runIf(process.platform === 'linux')('the numbers are those of this machine', () => {
  expect(names.map((name) => PASSED_SIGNALS[name])).toEqual(names.map((name) => constants.signals[name]));
});

test('a signal is one byte', () => {
  expect(encodeSignal('SIGTERM')).toEqual(Buffer.of(15));
});

test.each(['SIGKILL', 'SIGSTOP', 'SIGSEGV', 'sigint', '15', '', 'toString', '__proto__'])(
  '%j is not passed on',
  (name) => {
    expect(isPassedSignal(name)).toBe(false);
  },
);
