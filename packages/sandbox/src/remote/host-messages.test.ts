import fc from 'fast-check';
import { expect, test } from 'vitest';
import { encodeFrame } from '../launcher/wire.ts';
import { SandboxError } from '../sandbox-error.ts';
import { asError, createMessageReader, FROM_HOST, faultOf, TO_HOST } from './host-messages.ts';

const frames = fc.array(
  fc.record({
    kind: fc.nat(255),
    job: fc.integer({ min: 0, max: 0xffff_ffff }),
    payload: fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes)),
  }),
);

test('frames come back whole, however the stream is cut', () => {
  fc.assert(
    fc.property(frames, fc.array(fc.integer({ min: 1, max: 50 }), { minLength: 1 }), (list, sizes) => {
      const stream = Buffer.concat(list.map(({ kind, job, payload }) => encodeFrame(kind, job, payload)));
      const read = createMessageReader();
      const found: unknown[] = [];
      for (let at = 0, turn = 0; at < stream.length; turn += 1) {
        const size = sizes[turn % sizes.length] ?? 1;
        found.push(...read(stream.subarray(at, at + size)));
        at += size;
      }
      expect(found).toEqual(list);
    }),
  );
});

test('no two words have the same number', () => {
  const numbers = [...Object.values(TO_HOST), ...Object.values(FROM_HOST)];
  expect(new Set(numbers).size).toBe(numbers.length);
});

test('a fault keeps its code and its fix; what has none of ours is the launcher’s', () => {
  const fault = new SandboxError('sandbox.unsupported', 'No.', { fix: 'Yes.' });
  expect(asError(faultOf(fault))).toMatchObject({ code: 'sandbox.unsupported', message: 'No.', fix: 'Yes.' });
  expect(asError(faultOf(new TypeError('Odd.')))).toMatchObject({ code: 'sandbox.launcher_failed', message: 'Odd.' });
  expect(asError({ code: 'constructor', message: 'Odd.' })).toMatchObject({ code: 'sandbox.launcher_failed' });
});
