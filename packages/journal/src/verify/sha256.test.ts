import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { hexOf, utf8 } from '../format/bytes.ts';
import { sha256 } from './sha256.ts';

/** FIPS 180-4 and the examples that NIST published with it. */
test.each([
  ['', 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855'],
  ['abc', 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad'],
  [
    'abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq',
    '248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1',
  ],
  [
    'abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnopqrlmnopqrsmnopqrstnopqrstu',
    'cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1',
  ],
  ['a'.repeat(1_000_000), 'cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0'],
])('the published digest of %.16s… comes out', (text, digest) => {
  expect(hexOf(sha256(utf8(text)))).toBe(digest);
});

test('lengths around the ends of blocks agree with another implementation', () => {
  for (let length = 0; length <= 260; length += 1) {
    const bytes = new Uint8Array(length).map((_, index) => index * 7 + length);
    expect(hexOf(sha256(bytes))).toBe(createHash('sha256').update(bytes).digest('hex'));
  }
});

test('any bytes in any parts agree with another implementation', () => {
  fc.assert(
    fc.property(fc.array(fc.uint8Array({ maxLength: 300 }), { maxLength: 8 }), (parts) => {
      const sum = createHash('sha256');
      for (const part of parts) sum.update(part);
      expect(hexOf(sha256(...parts))).toBe(sum.digest('hex'));
    }),
  );
});
