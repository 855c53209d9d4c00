import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { fromBytes, toBytes } from './path-bytes.ts';

describe('a name as text', () => {
  it('comes out as the bytes that it was, whatever they are', () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 1, maxLength: 40 }), (bytes) => {
        const name = Buffer.from(bytes);
        expect(Buffer.from(toBytes(fromBytes(name)))).toEqual(name);
      }),
    );
  });

  it('is the text where it is text', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        expect(fromBytes(Buffer.from(text.toWellFormed()))).toBe(text.toWellFormed());
      }),
    );
  });

  it('differs for names that are shown alike', () => {
    expect(fromBytes(Buffer.from([0x78, 0xff]))).not.toBe(fromBytes(Buffer.from([0x78, 0xfe])));
  });
});
