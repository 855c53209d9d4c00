import fc from 'fast-check';
import { expect, test } from 'vitest';
import { nodeSha256 as sha256 } from '../node-crypto.ts';
import { concat, hexOf } from './bytes.ts';
import { commitmentOf, SALT_BYTES } from './commitment.ts';

const salts = fc.uint8Array({ minLength: SALT_BYTES, maxLength: SALT_BYTES });

test('a commitment is the hash of the salt and the body', () => {
  fc.assert(
    fc.property(salts, fc.uint8Array(), (salt, body) => {
      expect(hexOf(commitmentOf(salt, body, sha256))).toBe(hexOf(sha256(concat(salt, body))));
    }),
  );
});

test('two bodies, or two salts, have two commitments', () => {
  fc.assert(
    fc.property(salts, salts, fc.uint8Array(), fc.uint8Array(), (salt, otherSalt, body, otherBody) => {
      const isSame = hexOf(concat(salt, body)) === hexOf(concat(otherSalt, otherBody));
      const areEqual = hexOf(commitmentOf(salt, body, sha256)) === hexOf(commitmentOf(otherSalt, otherBody, sha256));
      expect(areEqual).toBe(isSame);
    }),
  );
});

test('no bytes move between salt and body: a salt of another length is refused', () => {
  const [salt, body] = [new Uint8Array(SALT_BYTES).fill(1), new Uint8Array([2, 3])];
  const whole = concat(salt, body);
  for (const length of [0, SALT_BYTES - 1, SALT_BYTES + 1, whole.length]) {
    expect(() => commitmentOf(whole.slice(0, length), whole.slice(length), sha256)).toThrow(
      expect.objectContaining({ code: 'journal.body_corrupt' }),
    );
  }
});
