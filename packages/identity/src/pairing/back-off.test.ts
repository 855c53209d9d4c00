import { expect, test } from 'vitest';
import { createBackOff, networkOf } from './back-off.ts';

test.each([
  ['192.0.2.1', '192.0.2.1'],
  ['::ffff:192.0.2.1', '192.0.2.1'],
  ['::FFFF:192.0.2.1', '192.0.2.1'],
  ['2001:db8::1', '2001:db8:0:0::/64'],
  ['2001:0db8:0000:0000:1:2:3:4', '2001:db8:0:0::/64'],
  ['::1', '0:0:0:0::/64'],
  ['fe80::1%eth0', 'fe80:0:0:0::/64'],
  ['', ''],
])('%s counts as %s', (address, network) => {
  expect(networkOf(address)).toBe(network);
});

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
