import { createFakeClock } from '@palyra/testkit';
import { expect, test } from 'vitest';
import { createPrincipalLimits } from './limit.ts';
import type { AuthenticatedPeer } from './peer-context.ts';

const peer = (principal: string) => ({ principal }) as AuthenticatedPeer;
const [ADA, EVE] = [peer('user:ada'), peer('agent:eve')];
const TOO_MANY = expect.objectContaining({ code: 'daemon.too_many' });
const SETTINGS = { requests_per_second: 10, streams_per_principal: 3 };

test('one principal has so many calls open, and the others as many', () => {
  const limits = createPrincipalLimits(SETTINGS, createFakeClock());
  const open = [1, 2, 3].map(() => limits.enter(EVE));
  expect(() => limits.enter(EVE)).toThrow(TOO_MANY);
  limits.enter(ADA);
  open[0]?.leave();
  open[0]?.leave();
  limits.enter(EVE);
  expect(() => limits.enter(EVE)).toThrow(TOO_MANY);
  expect(limits.open).toBe(4);
});

test('and so many calls in a second, however short each is', async () => {
  const clock = createFakeClock();
  const limits = createPrincipalLimits(SETTINGS, clock);
  for (let call = 0; call < 10; call += 1) limits.enter(EVE).leave();
  expect(() => limits.enter(EVE)).toThrow(TOO_MANY);
  limits.enter(ADA).leave();
  await clock.advance(300);
  for (let call = 0; call < 3; call += 1) limits.enter(EVE).leave();
  expect(() => limits.enter(EVE)).toThrow(TOO_MANY);
});

test('messages of a stream wait for their turn, and those of others do not', async () => {
  const clock = createFakeClock();
  const limits = createPrincipalLimits(SETTINGS, clock);
  const { signal } = new AbortController();
  for (let message = 0; message < 10; message += 1) await limits.pace(EVE, signal);
  let isTaken = false;
  const late = Promise.resolve(limits.pace(EVE, signal)).then(() => {
    isTaken = true;
  });
  await limits.pace(ADA, signal);
  expect(isTaken).toBe(false);
  await clock.advance(100);
  await late;
  expect(isTaken).toBe(true);
});

test('a clock that steps back gives and takes nothing', async () => {
  let now = 1_000_000;
  const limits = createPrincipalLimits(SETTINGS, { now: () => now, sleep: async () => undefined });
  for (let call = 0; call < 10; call += 1) limits.enter(EVE).leave();
  now -= 900_000;
  expect(() => limits.enter(EVE)).toThrow(TOO_MANY);
  now += 1_000;
  limits.enter(EVE).leave();
});
