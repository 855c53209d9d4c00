import { expect, test } from 'vitest';
import { createThrottle } from './throttle.ts';

function setUp() {
  const clock = { time: 0, now: () => clock.time };
  return { clock, throttle: createThrottle(clock) };
}

function failUntilShut(
  throttle: ReturnType<typeof createThrottle>,
  attempt: { address: string | undefined; id?: string },
) {
  let tries = 0;
  for (; tries < 1_000 && throttle.mayTry(attempt); tries += 1) throttle.failed(attempt);
  return tries;
}

test('ten failures are let pass, and then one every six seconds', () => {
  const { clock, throttle } = setUp();
  const attempt = { address: '127.0.0.1' };
  expect(failUntilShut(throttle, attempt)).toBe(10);
  clock.time += 6_000;
  expect(failUntilShut(throttle, attempt)).toBe(1);
});

test('what succeeded before goes on, as long as nobody tries it by name', () => {
  const { throttle } = setUp();
  const own = { address: '127.0.0.1', id: 'own' };
  throttle.succeeded(own);
  failUntilShut(throttle, { address: '127.0.0.1', id: 'other' });
  expect(throttle.mayTry({ address: '127.0.0.1', id: 'new' })).toBe(false);
  expect(throttle.mayTry(own)).toBe(true);
  for (let at = 0; at < 10; at += 1) throttle.failed(own);
  expect(throttle.mayTry(own)).toBe(false);
});

test('a network of IPv6 is one place, mapped IPv4 is IPv4, and no address is a place too', () => {
  const { throttle } = setUp();
  failUntilShut(throttle, { address: '2001:db8::1' });
  expect(throttle.mayTry({ address: '2001:db8:0:0:ffff::2' })).toBe(false);
  expect(throttle.mayTry({ address: '2001:db8:0:1::1' })).toBe(true);
  failUntilShut(throttle, { address: '::ffff:192.0.2.1' });
  expect(throttle.mayTry({ address: '192.0.2.1' })).toBe(false);
  failUntilShut(throttle, { address: '127.0.0.1' });
  expect(['127.3.2.1', '::1', '::ffff:127.0.0.2'].map((address) => throttle.mayTry({ address }))).toEqual([
    false,
    false,
    false,
  ]);
  failUntilShut(throttle, { address: undefined });
  expect(throttle.mayTry({ address: undefined })).toBe(false);
});

test('many addresses together are slowed down as well', () => {
  const { throttle } = setUp();
  let tries = 0;
  for (; tries < 5_000 && throttle.mayTry({ address: `10.0.${tries >> 8}.${tries & 255}` }); tries += 1) {
    throttle.failed({ address: `10.0.${tries >> 8}.${tries & 255}` });
  }
  expect(tries).toBe(500);
});
