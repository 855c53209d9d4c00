import { createFakeClock } from '@palyra/testkit';
import { expect, test } from 'vitest';
import { endInTime } from './end-in-time.ts';

test('what ends in time has ended, and what fails says so', async () => {
  const clock = createFakeClock();
  expect(await endInTime(Promise.resolve(), 1_000, clock)).toBe('ended');
  await expect(endInTime(Promise.reject(new Error('broken')), 1_000, clock)).rejects.toThrow('broken');
});

test('what never ends is not waited for, and its failure afterwards is nobody’s', async () => {
  const clock = createFakeClock();
  const { promise, reject } = Promise.withResolvers<void>();
  const ending = endInTime(promise, 1_000, clock);
  await clock.advance(1_000);
  expect(await ending).toBe('late');
  reject(new Error('much later'));
  await new Promise((resolve) => setImmediate(resolve));
});
