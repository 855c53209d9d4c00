import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createFrameReader, type Frame, frameOf } from './frames.ts';

test('frames come out as they went in, however they were cut on the way', () => {
  const body = fc.uint8Array({ maxLength: 300 });
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.nat(255), body)), fc.integer({ min: 1, max: 97 }), (sent, step) => {
      const all = Buffer.concat(sent.map(([type, bytes]) => frameOf(type, [bytes.subarray(0, 3), bytes.subarray(3)])));
      const reader = createFrameReader();
      const heard: Frame[] = [];
      for (let at = 0; at < all.length; at += step) {
        reader.push(Buffer.from(all.subarray(at, at + step)), (frame) => heard.push(frame));
      }
      expect(heard.map(({ type, body: bytes }) => [type, Uint8Array.from(bytes)])).toEqual(sent);
      expect(reader.isWithin).toBe(false);
    }),
  );
});

test('a length beyond the limit is refused before its bytes are there', () => {
  const reader = createFrameReader(100);
  const head = Buffer.from([101, 0, 0, 0, 1]);
  expect(() => reader.push(head, () => undefined)).toThrow('longer than any frame');
});

test('a frame that comes byte by byte takes no more room than its bytes', async () => {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  const reader = createFrameReader();
  const frame = frameOf(1, [Buffer.alloc(600)]);
  const heard: Frame[] = [];
  const pieces: WeakRef<ArrayBufferLike>[] = [];
  // Each byte in a buffer of its own, as a pipe gives it.
  for (const byte of frame.subarray(0, -1)) {
    const piece = Buffer.alloc(64 * 1024, byte).subarray(0, 1);
    pieces.push(new WeakRef(piece.buffer));
    reader.push(piece, (each) => heard.push(each));
  }
  // What was looked at in a turn stays until that is over.
  await new Promise((resolve) => setImmediate(resolve));
  collect();
  // Not by the memory of the process: it is given back later, by another thread.
  expect(pieces.filter((each) => each.deref() !== undefined).length).toBeLessThan(10);
  reader.push(frame.subarray(-1), (each) => heard.push(each));
  expect(heard).toEqual([{ type: 1, body: Buffer.alloc(600) }]);
});
