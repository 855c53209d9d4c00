import fc from 'fast-check';
import { expect, test } from 'vitest';
import { base64Of, bytesOfBase64, portableBase64Of, portableBytesOfBase64 } from './base64.ts';

test('browsers and Node write the same text, and it is read back as the same bytes', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 70 }), fc.nat(3), (bytes, from) => {
      const view = bytes.subarray(Math.min(from, bytes.length));
      expect(portableBase64Of(view)).toBe(base64Of(view));
      expect(bytesOfBase64(base64Of(view))).toEqual(new Uint8Array(view));
    }),
  );
});

test('browsers and Node read the same texts, and refuse the same', () => {
  const letters = fc.string({
    unit: fc.constantFrom(...'ABab01+/=-_ \n"é'.split(''), '\u{1F600}'),
    minLength: 60,
    maxLength: 90,
  });
  const mutated = fc
    .tuple(
      fc.uint8Array({ minLength: 45, maxLength: 90 }),
      fc.nat(),
      fc.constantFrom('', '=', 'B', '-', '_', ' ', '\n', 'é'),
    )
    .map(([bytes, at, put]) => {
      const text = base64Of(bytes);
      const place = at % text.length;
      return text.slice(0, place) + put + text.slice(place + 1);
    });
  fc.assert(
    fc.property(fc.oneof(letters, mutated), (text) => {
      expect(bytesOfBase64(text)).toEqual(portableBytesOfBase64(text));
    }),
    { numRuns: 3000 },
  );
});

test('bytes come as plain ones, whose slices are copies', () => {
  for (const length of [3, 300]) expect(bytesOfBase64('AAAA'.repeat(length))?.constructor).toBe(Uint8Array);
});
