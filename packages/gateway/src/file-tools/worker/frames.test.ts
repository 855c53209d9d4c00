import fc from 'fast-check';
import { expect, test } from 'vitest';
import { blobFrame, createFrameReader, type Frame, jsonFrame } from './frames.ts';

const DIGEST = 'ab'.repeat(32);
const flat = (frame: Frame) =>
  frame.kind === 'json' ? JSON.parse(frame.payload.toString()) : [frame.sha256, frame.bytes.toString()];

test('frames come out as they went in, however they are cut', () => {
  const message = fc.oneof(
    fc.jsonValue().map((value) => ({ frame: jsonFrame({ value }), expected: JSON.parse(JSON.stringify({ value })) })),
    fc.string().map((text) => ({
      frame: blobFrame(DIGEST, Buffer.from(text)),
      expected: [DIGEST, Buffer.from(text).toString()],
    })),
  );
  fc.assert(
    fc.property(fc.array(message), fc.array(fc.integer({ min: 1, max: 50 }), { minLength: 1 }), (messages, cuts) => {
      const bytes = Buffer.concat(messages.map(({ frame }) => frame));
      const reader = createFrameReader();
      const found: unknown[] = [];
      for (let at = 0, turn = 0; at < bytes.length; turn += 1) {
        const size = cuts[turn % cuts.length] ?? 1;
        found.push(...reader.push(bytes.subarray(at, at + size)).map(flat));
        at += size;
      }
      expect(found).toEqual(messages.map(({ expected }) => expected));
    }),
  );
});

test('a frame that is too long, or of no kind, is a fault', () => {
  expect(() => createFrameReader(10).push(jsonFrame('x'.repeat(20)))).toThrow('longer');
  expect(() => createFrameReader().push(Buffer.from([0, 0, 0, 0, 9]))).toThrow('no known kind');
  expect(() => createFrameReader().push(Buffer.from([0, 0, 0, 1, 2, 0]))).toThrow('no known kind');
});
