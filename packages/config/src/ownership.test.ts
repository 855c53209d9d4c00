import { expect, test } from 'vitest';
import { othersMayEnter, othersMayWrite } from './ownership.ts';

const OURS = 1000;
const LOOK = 'Look through it, then run:';

test.each([
  [OURS, 0o100600, undefined],
  [OURS, 0o100644, undefined],
  [0, 0o100644, undefined],
  [OURS, 0o100620, { sentence: 'can be changed by other users (mode 0620)', fix: `${LOOK} chmod go-w f` }],
  [OURS, 0o100602, { sentence: 'can be changed by other users (mode 0602)', fix: `${LOOK} chmod go-w f` }],
  [0, 0o100664, { sentence: 'can be changed by other users (mode 0664)', fix: `${LOOK} chmod go-w f` }],
  [1001, 0o100600, { sentence: 'belongs to another user (uid 1001)', fix: `${LOOK} sudo chown 1000 f` }],
])('a file of uid %i with mode %i', (uid, mode, expected) => {
  expect(othersMayWrite({ uid, mode, word: 'f' }, OURS)).toEqual(expected);
});

test.each([
  [OURS, 0o40700, undefined],
  [OURS, 0o42700, undefined],
  [OURS, 0o40701, { sentence: 'is open to other users (mode 0701)', fix: 'Run: chmod 700 d' }],
  [0, 0o40700, { sentence: 'belongs to another user (uid 0)', fix: 'Run as that user, or choose another home.' }],
])('a directory of uid %i with mode %i', (uid, mode, expected) => {
  expect(othersMayEnter({ uid, mode, word: 'd' }, OURS)).toEqual(expected);
});

test('root trusts its own files only', () => {
  expect(othersMayWrite({ uid: 1000, mode: 0o100600, word: 'f' }, 0)).toEqual({
    sentence: 'belongs to another user (uid 1000)',
    fix: `${LOOK} chown 0 f`,
  });
});

test('where there are no uids nothing is judged', () => {
  const open = { uid: 7, mode: 0o777, word: 'x' };
  expect([othersMayWrite(open, undefined), othersMayEnter(open, undefined)]).toEqual([undefined, undefined]);
});
