import { hostname } from 'node:os';
import { expect, test } from 'vitest';
import { processPlace, processStart } from './process-start.ts';

test('a process has one start, and one that is not there has none', () => {
  expect(processStart(process.pid)).toMatch(/^\d+$/);
  expect(processStart(process.pid)).toBe(processStart(process.pid));
  expect(processStart(process.pid)).not.toBe(processStart(1));
  expect(processStart(2 ** 31)).toBeUndefined();
});

test('the place names the machine', () => {
  expect(processPlace().startsWith(hostname())).toBe(true);
  expect(processPlace()).toBe(processPlace());
});
