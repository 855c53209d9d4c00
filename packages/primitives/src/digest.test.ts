import fc from 'fast-check';
import { expect, test } from 'vitest';
import { equalInConstantTime, parseSha256Hex, sha256Bytes, sha256Hex, sha256OfJson, sha256OfParts } from './digest.ts';

const EMPTY = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855';
const ABC = 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad';

const part = fc.oneof(fc.string({ unit: 'grapheme' }), fc.uint8Array());

test('digests match the published ones (FIPS 180-2)', () => {
  expect([sha256Hex(''), sha256Hex('abc'), Buffer.from(sha256Bytes('abc')).toString('hex')]).toEqual([EMPTY, ABC, ABC]);
});

test('text counts as its UTF-8 bytes', () => {
  expect(sha256Hex('é')).toBe(sha256Hex(Uint8Array.of(0xc3, 0xa9)));
});

test('text that has no bytes of its own has no digest', () => {
  expect(() => sha256Hex('\ud800')).toThrow(expect.objectContaining({ code: 'primitives.ambiguous_text' }));
  expect(() => sha256OfParts('x', ['\ud800'])).toThrow(expect.objectContaining({ code: 'primitives.ambiguous_text' }));
});

test('the digest of a JSON value does not depend on the order of its keys', () => {
  expect(sha256OfJson({ b: 1, a: [true] })).toBe(sha256Hex('{"a":[true],"b":1}'));
  expect(sha256OfJson({ a: [true], b: 1 })).toBe(sha256Hex('{"a":[true],"b":1}'));
});

test('the digest of parts is SHA-256 over the framing that is documented', () => {
  const bytes = Buffer.concat([
    Buffer.from('0000000000000003', 'hex'),
    Buffer.from('dom'),
    Buffer.from('0000000000000002', 'hex'),
    Buffer.from('0000000000000001', 'hex'),
    Buffer.from('a'),
    Buffer.from('0000000000000000', 'hex'),
  ]);
  expect(sha256OfParts('dom', ['a', new Uint8Array()])).toBe(sha256Hex(bytes));
});

test('different domains or different parts never share a digest', () => {
  const input = fc.tuple(fc.string(), fc.array(part, { maxLength: 4 }));
  const asBytes = ([domain, parts]: [string, (string | Uint8Array)[]]): string =>
    JSON.stringify([domain, ...parts].map((item) => Buffer.from(item as string).toString('hex')));
  fc.assert(
    fc.property(input, input, (left, right) => {
      const same = asBytes(left) === asBytes(right);
      expect(sha256OfParts(...left) === sha256OfParts(...right)).toBe(same);
    }),
  );
});

test('only 64 lower-case hexadecimal digits are a digest', () => {
  expect(parseSha256Hex(ABC)).toBe(ABC);
  for (const text of ['', ABC.toUpperCase(), ABC.slice(1), `${ABC}0`, `${ABC}\n`, `g${ABC.slice(1)}`, 7, null]) {
    expect(() => parseSha256Hex(text)).toThrow(
      expect.objectContaining({ code: 'primitives.invalid_digest', message: 'This is not a SHA-256 digest.' }),
    );
  }
});

test('constant-time equality agrees with ordinary equality', () => {
  fc.assert(
    fc.property(fc.uint8Array(), fc.uint8Array(), (left, right) => {
      expect(equalInConstantTime(left, right)).toBe(Buffer.compare(left, right) === 0);
      expect(equalInConstantTime(left, left.slice())).toBe(true);
    }),
  );
  expect([equalInConstantTime(ABC, ABC), equalInConstantTime(ABC, EMPTY), equalInConstantTime('a', 'ab')]).toEqual([
    true,
    false,
    false,
  ]);
});
