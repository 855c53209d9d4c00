import fc from 'fast-check';
import { expect, test } from 'vitest';
import { base64Of, bytesOfBase64, portableBase64Of } from './base64.ts';

test('browsers and Node write the same text, and it is read back as the same bytes', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 70 }), fc.nat(3), (bytes, from) => {
      const view = bytes.subarray(Math.min(from, bytes.length));
      expect(portableBase64Of(view)).toBe(base64Of(view));
      expect(bytesOfBase64(base64Of(view))).toEqual(new Uint8Array(view));
    }),
  );
});
