import { sha256Hex } from '@palyra/primitives';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { areGrantable, checkEffects, commandLine, covers, type Effect, effectInWords } from './approval-effect.ts';

const HOST: Effect = { kind: 'host', host: 'a.example', port: 443, secret: null };
const UPSTREAM: Effect = { kind: 'upstream', server: 'github', tool: 'issues', definition: sha256Hex('d') };
const ARGV: Effect = { kind: 'argv', argv: ['make', 'flash'], cwd: '/work' };
const read = (path: string): Effect => ({ kind: 'path', path, mode: 'read' });

test('every effect has words of its own', () => {
  const secret: Effect = { ...HOST, secret: 'token' };
  const effects: readonly Effect[] = [HOST, secret, read('/in'), UPSTREAM, ARGV, { kind: 'once', what: 'a hook' }];
  expect(effects.map(effectInWords)).toEqual([
    'connections to a.example port 443',
    'connections to a.example port 443 with the secret token',
    'reading /in and everything below it',
    `the tool issues of github at definition ${sha256Hex('d')}`,
    'exactly the command make flash in /work, outside the box',
    'a hook',
  ]);
});

test('effects cover themselves, and all that is needed must be covered', () => {
  for (const effect of [HOST, UPSTREAM, read('/in')]) expect(covers([effect], [effect])).toBe(true);
  expect(covers([HOST, UPSTREAM], [UPSTREAM, HOST])).toBe(true);
  expect(covers([HOST], [HOST, UPSTREAM])).toBe(false);
  expect(covers([HOST], [])).toBe(false);
  expect(covers([], [HOST])).toBe(false);
});

test('a path covers exactly what is below it', () => {
  const step = fc.constantFrom('a', 'b', 'ab', '.a', 'a b');
  const path = fc.array(step, { minLength: 1, maxLength: 4 });
  fc.assert(
    fc.property(path, path, (granted, needed) => {
      const isBelow = granted.every((each, index) => needed[index] === each);
      expect(covers([read(`/${granted.join('/')}`)], [read(`/${needed.join('/')}`)])).toBe(isBelow);
    }),
  );
  expect(covers([read('/')], [read('/etc/passwd')])).toBe(true);
});

test('what cannot be told apart from other effects is not granted', () => {
  expect(areGrantable([])).toBe(false);
  expect(areGrantable([HOST, { kind: 'once', what: 'a hook' }])).toBe(false);
  expect(areGrantable([ARGV])).toBe(false);
  expect(covers([ARGV], [ARGV])).toBe(false);
});

test.each([
  { ...HOST, host: 'A.example' },
  { ...HOST, port: 0 },
  { ...HOST, secret: '' },
  read('relative'),
  read('/a/../b'),
  read('/a\0b'),
  { ...UPSTREAM, definition: 'ABC' },
  { kind: 'argv', argv: [], cwd: '/' },
  { kind: 'once', what: '' },
] as Effect[])('%j is not canonical', (effect) => {
  expect(() => checkEffects([effect])).toThrow(expect.objectContaining({ code: 'approvals.invalid_effect' }));
});

test('the words of a command are quoted only when they must be', () => {
  expect(commandLine(['git', 'commit', '-m', "it's", '', 'a\\b'])).toBe(
    String.raw`git commit -m 'it\u{27}s' '' 'a\\b'`,
  );
});
