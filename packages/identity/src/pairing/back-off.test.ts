import { expect, test } from 'vitest';
import { createBackOff } from './back-off.ts';

test('waits double up to a minute, and are forgotten after ten quiet minutes or a success', () => {
  let now = 1_000_000;
  const backOff = createBackOff(() => now);
  const waits = Array.from({ length: 8 }, () => {
    backOff.failed('192.0.2.1', 'garbled');
    return backOff.waitFor('192.0.2.1');
  });
  expect(waits).toEqual([1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000]);
  expect(backOff.waitFor('192.0.2.2')).toBe(0);
  now += 60_000 + 600_001;
  backOff.failed('192.0.2.1', 'garbled');
  expect(backOff.waitFor('192.0.2.1')).toBe(1_000);
  backOff.succeeded('192.0.2.1');
  expect(backOff.waitFor('192.0.2.1')).toBe(0);
});

test('garbage makes only its sender wait; failed tries beyond ten make everybody wait', () => {
  const backOff = createBackOff(() => 5);
  for (let index = 0; index < 50; index += 1) backOff.failed(`10.0.0.${index}`, 'garbled');
  expect(backOff.waitFor('192.0.2.1')).toBe(0);
  for (let index = 0; index < 12; index += 1) backOff.failed(`10.0.1.${index}`, 'tried');
  expect(backOff.waitFor('192.0.2.1')).toBe(2_000);
});

test('an attacker with many addresses does not fill the memory: the oldest is forgotten', () => {
  const backOff = createBackOff(() => 5);
  for (let index = 0; index < 1_025; index += 1) backOff.failed(`10.${index >> 8}.${index & 255}.1`, 'garbled');
  expect([backOff.waitFor('10.0.0.1'), backOff.waitFor('10.0.1.1')]).toEqual([0, 1_000]);
});
