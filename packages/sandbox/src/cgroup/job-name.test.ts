import fc from 'fast-check';
import { expect, test } from 'vitest';
import { isDead, jobNameOf, parseJobName, startTicksOf } from './job-name.ts';

test('property: a name says which launcher made it', () => {
  const parts = fc.record({
    launcherPid: fc.integer({ min: 1, max: 4_194_304 }),
    launcherStartTicks: fc.nat(),
    job: fc.stringMatching(/^[a-z0-9-]{1,64}$/),
  });
  fc.assert(
    fc.property(parts, (each) => {
      expect(parseJobName(jobNameOf(each))).toEqual(each);
    }),
  );
});

test.each(['', '../x', 'a/b', 'a b', 'A', 'x'.repeat(65), 'a\n'])('%j names no job', (job) => {
  expect(() => jobNameOf({ launcherPid: 1, launcherStartTicks: 2, job })).toThrow(
    expect.objectContaining({ code: 'sandbox.start_failed' }),
  );
});

test.each(['palyra-main', 'palyra-0-1-a', 'palyra-1-a', 'palyra-1-2-', 'user.slice', 'palyra-1-2-a/../b', '-1-2-a'])(
  '%s is no directory of a launcher',
  (name) => {
    expect(parseJobName(name)).toBeUndefined();
  },
);

test('the start is found behind any program name', () => {
  const rest = 'S 1 1 1 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 4711 12345 678';
  expect(startTicksOf(`77 (a) S 9 (b) ${rest}\n`)).toBe(4711);
  expect(startTicksOf('')).toBeUndefined();
  expect(isDead(`77 (Z) ${rest}`)).toBe(false);
  expect(isDead(`77 (x) Z${rest.slice(1)}`)).toBe(true);
});
