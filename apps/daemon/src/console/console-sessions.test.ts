import type { Device } from '@palyra/identity';
import { createFakeClock } from '@palyra/testkit';
import { expect, test } from 'vitest';
import { createConsoleSessions } from './console-sessions.ts';

const MINUTE = 60_000;
const DEVICE = { id: 'D', kind: 'operator', principal: 'user:ada', revoked: null } as unknown as Device;

function house(device: Partial<Device> = {}) {
  const clock = createFakeClock();
  const found = { ...DEVICE, ...device };
  const registry = { find: async () => found };
  return { clock, found, sessions: createConsoleSessions({ registry, clock }) };
}

test('a link is good once, for a minute, and gives both halves of a session', async () => {
  const { clock, sessions } = house();
  const { code } = sessions.invite(DEVICE.id);
  const [first, second] = await Promise.all([sessions.enter(code), sessions.enter(code)]);
  expect(second).toBeUndefined();
  if (first === undefined) throw new Error('the link did not work');
  expect(await sessions.find(first)).toMatchObject({ principal: 'user:ada' });
  const late = sessions.invite(DEVICE.id);
  await clock.advance(MINUTE);
  expect(await sessions.enter(late.code)).toBeUndefined();
});

test('one half is nothing (T-48)', async () => {
  const { sessions } = house();
  const session = await sessions.enter(sessions.invite(DEVICE.id).code);
  const other = await sessions.enter(sessions.invite(DEVICE.id).code);
  const { cookie = '', key = '' } = session ?? {};
  expect(await sessions.find({ cookie, key: '' })).toBeUndefined();
  expect(await sessions.find({ cookie, key: other?.key ?? '' })).toBeUndefined();
  expect(await sessions.find({ cookie: '', key })).toBeUndefined();
  sessions.leave({ cookie, key: '' });
  expect(await sessions.find({ cookie, key })).toBeDefined();
  sessions.leave({ cookie, key });
  expect(await sessions.find({ cookie, key })).toBeUndefined();
});

test('a session ends when it is not used, after eight hours, and with its device', async () => {
  const { clock, sessions } = house();
  const enter = async () => {
    const { cookie = '', key = '' } = (await sessions.enter(sessions.invite(DEVICE.id).code)) ?? {};
    return { cookie, key };
  };
  const idle = await enter();
  await clock.advance(30 * MINUTE);
  expect(await sessions.find(idle)).toBeUndefined();
  const long = await enter();
  for (let left = 8 * 60; left > 20; left -= 20) {
    await clock.advance(20 * MINUTE);
    expect(await sessions.find(long)).toBeDefined();
  }
  await clock.advance(20 * MINUTE);
  expect(await sessions.find(long)).toBeUndefined();
});

test.each([
  ['was revoked', { revoked: { at: 1, by: 'user:ada', reason: 'lost' } }],
  ['is an agent', { kind: 'agent' }],
] as const)('a device that %s has no session', async (_, change) => {
  const { sessions } = house(change);
  expect(await sessions.enter(sessions.invite(DEVICE.id).code)).toBeUndefined();
});

test('so many are invited at a time', async () => {
  const { clock, sessions } = house();
  for (let each = 0; each < 16; each += 1) sessions.invite(DEVICE.id);
  expect(() => sessions.invite(DEVICE.id)).toThrow(expect.objectContaining({ code: 'daemon.too_many' }));
  await clock.advance(MINUTE);
  sessions.invite(DEVICE.id);
});
