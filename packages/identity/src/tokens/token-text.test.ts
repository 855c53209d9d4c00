import { createIdSource, reveal } from '@palyra/primitives';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { makeToken, readToken } from './token-text.ts';

const id = createIdSource().newId('token');

test('a token is read as what it was made, and holds 256 bits', () => {
  const lengths: number[] = [];
  const made = makeToken('access', id, (length) => {
    lengths.push(length);
    return new Uint8Array(length).fill(7);
  });
  expect(lengths).toEqual([32]);
  expect(readToken(reveal(made.text))).toEqual({ purpose: 'access', id, digest: made.digest });
  expect(String(made.text)).toBe('[secret]');
});

test('one character more, less or other is no token, or another one', () => {
  const text = reveal(makeToken('enrolment', id).text);
  const { digest } = readToken(text) ?? {};
  fc.assert(
    fc.property(fc.nat(text.length - 1), fc.string({ maxLength: 2 }), (at, put) => {
      fc.pre(put !== text[at]);
      const read = readToken(text.slice(0, at) + put + text.slice(at + 1));
      expect(read?.digest === digest && read?.id === id && read?.purpose === 'enrolment').toBe(false);
    }),
  );
});
