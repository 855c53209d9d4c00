import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createEnvelopeReader, envelope } from './envelopes.ts';

test('however the bytes are cut, the messages are the same', () => {
  const messages = fc.array(fc.uint8Array({ maxLength: 40 }), { maxLength: 10 });
  fc.assert(
    fc.property(messages, fc.array(fc.integer({ min: 1, max: 30 })), (sent, cuts) => {
      const bytes = Buffer.concat(sent.map(envelope));
      const reader = createEnvelopeReader(64);
      const read: Uint8Array[] = [];
      let at = 0;
      for (const cut of [...cuts, bytes.length]) {
        for (const { flags, data } of reader.take(bytes.subarray(at, at + cut))) {
          expect(flags).toBe(0);
          read.push(data);
        }
        at += cut;
      }
      expect(read).toEqual(sent);
    }),
  );
});

test('flags are given as they are', () => {
  expect(createEnvelopeReader(64).take(Uint8Array.of(2, 0, 0, 0, 1, 9))).toMatchObject([{ flags: 2 }]);
});

test('one that says that it is larger than any may be is not waited for', () => {
  expect(() => createEnvelopeReader(64).take(Uint8Array.of(0, 0, 0, 0, 65))).toThrow('larger than any may be');
});
