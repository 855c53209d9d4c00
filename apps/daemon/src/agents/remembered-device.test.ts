import type { Device, RegistryChange } from '@palyra/identity';
import { parseId } from '@palyra/primitives';
import { createFakeClock } from '@palyra/testkit';
import { expect, test } from 'vitest';
import { rememberDevice } from './remembered-device.ts';

const ID = parseId('device', '01ARZ3NDEKTSV4RRFFQ69G5FAV');

async function start() {
  const clock = createFakeClock();
  const state = { asked: 0, isRevoked: false, isGone: false, hold: undefined as Promise<void> | undefined };
  let tell: (change: RegistryChange) => void = () => undefined;
  const remembered = await rememberDevice({
    clock,
    registry: {
      async find(id) {
        state.asked += 1;
        const revoked = state.isRevoked ? ({ at: 1, by: 'user:ada', reason: 'lost' } as const) : null;
        const row = { id, revoked } as Device;
        await state.hold;
        if (state.isGone) throw new Error('The registry cannot be read.');
        return row;
      },
      async watch(listener) {
        tell = listener;
        return { close: () => undefined };
      },
    },
  });
  const counts = async () => (await remembered.find(ID))?.revoked === null;
  return { clock, state, remembered, counts, tell: (change: RegistryChange) => tell(change) };
}

test('what is wanted often is asked for once, and kept fresh beside that', async () => {
  const { clock, state, remembered, counts } = await start();
  for (let i = 0; i < 10; i += 1) expect(await counts()).toBe(true);
  expect(state.asked).toBe(1);
  await clock.advance(10_000);
  const before = state.asked;
  expect(await counts()).toBe(true);
  expect(state.asked).toBe(before);
  remembered.close();
});

test.each([{ kind: 'changed', device: ID } as const, { kind: 'gap' } as const])(
  'SECURITY: T-35 — after %j it is asked for again, at once',
  async (change) => {
    const { state, remembered, counts, tell } = await start();
    expect(await counts()).toBe(true);
    state.isRevoked = true;
    tell(change);
    expect(await counts()).toBe(false);
    remembered.close();
  },
);

test('SECURITY: T-35 — a change of which nobody tells is seen within a second', async () => {
  const { clock, state, remembered, counts } = await start();
  expect(await counts()).toBe(true);
  state.isRevoked = true;
  await clock.advance(1_000);
  expect(await counts()).toBe(false);
  remembered.close();
});

test('SECURITY: T-35 — with a registry that cannot be read nobody counts, within a second', async () => {
  const { clock, state, remembered, counts } = await start();
  expect(await counts()).toBe(true);
  state.isGone = true;
  await clock.advance(1_000);
  await expect(counts()).rejects.toThrow('The registry cannot be read.');
  remembered.close();
});

test('SECURITY: T-35 — a registry that does not answer any more makes nothing younger', async () => {
  const { clock, state, remembered, counts } = await start();
  expect(await counts()).toBe(true);
  const held = Promise.withResolvers<void>();
  state.hold = held.promise;
  await clock.advance(5_000);
  state.isRevoked = true;
  const asked = counts();
  held.resolve();
  expect(await asked).toBe(false);
  remembered.close();
});

test('SECURITY: T-35 — an answer that was under way when a change was told is not remembered', async () => {
  const { state, remembered, counts, tell } = await start();
  const held = Promise.withResolvers<void>();
  state.hold = held.promise;
  const first = counts();
  state.isRevoked = true;
  tell({ kind: 'changed', device: ID });
  held.resolve();
  await first;
  expect(await counts()).toBe(false);
  remembered.close();
});

test('it is left alone when nobody wants it any more', async () => {
  const { clock, remembered, counts } = await start();
  await counts();
  await clock.advance(6 * 60_000);
  expect(clock.dueTimes()).toEqual([]);
  remembered.close();
});
