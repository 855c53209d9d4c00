import { expect, test } from 'vitest';
import { instrument } from './instrument.ts';
import { createInstrumenter } from './instrument-off-loop.ts';

const EMPTY = Uint8Array.from([0x00, 0x61, 0x73, 0x6d, 0x01, 0x00, 0x00, 0x00]);

test('the thread answers as the function does, in any number at once', async () => {
  const instrumenter = createInstrumenter();
  try {
    const answers = await Promise.all([
      instrumenter.instrument(EMPTY),
      instrumenter.instrument(EMPTY.subarray(0, 5)),
      instrumenter.instrument(EMPTY, { moduleBytes: 3 }),
    ]);
    expect(answers).toEqual([
      instrument(EMPTY),
      instrument(EMPTY.subarray(0, 5)),
      instrument(EMPTY, { moduleBytes: 3 }),
    ]);
    await expect(instrumenter.instrument(EMPTY, { nesting: -1 })).rejects.toMatchObject({ code: 'wasm.bad_limits' });
  } finally {
    await instrumenter.close();
  }
});

test('what waits when the thread ends is refused, and nothing comes after', async () => {
  const instrumenter = createInstrumenter();
  const waiting = Promise.allSettled([instrumenter.instrument(EMPTY)]);
  await instrumenter.close();
  expect(await waiting).toMatchObject([{ status: 'rejected', reason: { code: 'wasm.instrumentation_failed' } }]);
  await expect(instrumenter.instrument(EMPTY)).rejects.toMatchObject({ code: 'wasm.instrumentation_failed' });
});
