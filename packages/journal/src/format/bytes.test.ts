import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  base64Of,
  bytesOfBase64,
  bytesOfHex,
  concat,
  equalBytes,
  hexOf,
  textOf,
  uint32,
  uint64,
  utf8,
} from './bytes.ts';

const bytes = fc.uint8Array({ maxLength: 200 });

test('bytes come back from hexadecimal and from base64, spelled as Node spells them', () => {
  fc.assert(
    fc.property(bytes, (value) => {
      expect(hexOf(value)).toBe(Buffer.from(value).toString('hex'));
      expect(base64Of(value)).toBe(Buffer.from(value).toString('base64'));
      expect(bytesOfHex(hexOf(value))).toEqual(value);
      expect(bytesOfBase64(base64Of(value))).toEqual(value);
    }),
  );
});

test('any text is either the one spelling of some bytes, or refused', () => {
  const almost = fc.string({ unit: fc.constantFrom(...'09afAFgz+/-_= \n'.split('')), maxLength: 12 });
  fc.assert(
    fc.property(almost, (text) => {
      const hex = bytesOfHex(text);
      expect(hex === undefined ? text : hexOf(hex)).toBe(text);
      const base64 = bytesOfBase64(text);
      expect(base64 === undefined ? text : base64Of(base64)).toBe(text);
    }),
    { numRuns: 2000 },
  );
});

test.each(['0', 'AB', '0g', ' 00', '00\n', '0x00'])('%j is no hexadecimal', (text) => {
  expect(bytesOfHex(text)).toBeUndefined();
});

test.each(['QQ', 'QQ=', 'QR==', 'QUJ=', 'QQ==\n', ' QQ==', 'QUI-', 'Q===', '====', 'QQ==QQ=='])(
  '%j is no base64, or not its one spelling',
  (text) => {
    expect(bytesOfBase64(text)).toBeUndefined();
  },
);

test('base64 of many megabytes is read', () => {
  const large = 'QUJD'.repeat(4_000_000);
  expect(bytesOfBase64(large)?.length).toBe(12_000_000);
  expect(bytesOfBase64(`${large}=`)).toBeUndefined();
});

test('text comes back from UTF-8, a byte order mark included, and other bytes are no text', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) => {
      expect(textOf(utf8(text))).toBe(text);
    }),
  );
  expect(textOf(utf8('\ufeffa'))).toBe('\ufeffa');
  expect(textOf(new Uint8Array([0xff]))).toBeUndefined();
  expect(textOf(new Uint8Array([0xc0, 0x80]))).toBeUndefined();
});

test('parts are put together in order', () => {
  fc.assert(
    fc.property(fc.array(bytes), (parts) => {
      expect(hexOf(concat(...parts))).toBe(parts.map(hexOf).join(''));
    }),
  );
});

test('two byte strings are equal when their spellings are', () => {
  fc.assert(
    fc.property(bytes, bytes, (left, right) => {
      expect(equalBytes(left, right)).toBe(hexOf(left) === hexOf(right));
      expect(equalBytes(left, Uint8Array.from(left))).toBe(true);
    }),
  );
});

describe('numbers', () => {
  test('are written with the most significant byte first', () => {
    expect(hexOf(uint32(0x01020304))).toBe('01020304');
    expect(hexOf(uint32(2 ** 32 - 1))).toBe('ffffffff');
    expect(hexOf(uint64(Number.MAX_SAFE_INTEGER))).toBe('001fffffffffffff');
    fc.assert(
      fc.property(fc.maxSafeNat(), (value) => {
        expect(Number.parseInt(hexOf(uint64(value)), 16)).toBe(value);
      }),
    );
  });

  test.each([-1, 0.5, Number.NaN, 2 ** 53, 2 ** 64, Number.POSITIVE_INFINITY])('%d is refused, not bent', (value) => {
    expect(() => uint32(value)).toThrow(RangeError);
    expect(() => uint64(value)).toThrow(RangeError);
  });

  test('2^32 is no uint32', () => {
    expect(() => uint32(2 ** 32)).toThrow(RangeError);
  });
});
