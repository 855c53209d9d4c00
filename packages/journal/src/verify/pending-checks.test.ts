import { expect, test } from 'vitest';
import { createPendingChecks } from './pending-checks.ts';
import type { Finding } from './report.ts';

const at = (seq: number): Finding => ({ code: 'entry_edited', seq, why: '' });

test('the finding at the first position counts, whichever comes first', async () => {
  const pending = createPendingChecks(10);
  const late = Promise.withResolvers<Finding | undefined>();
  pending.add(1, late.promise);
  pending.add(2, Promise.resolve(at(2)));
  pending.add(3, Promise.resolve(undefined));
  const settled = pending.settle();
  late.resolve(at(1));
  expect(await settled).toEqual(at(1));
  expect(pending.hasFound()).toBe(true);
});

test('there is room again when half of them are done', async () => {
  const pending = createPendingChecks(4);
  const checks = Array.from({ length: 4 }, () => Promise.withResolvers<undefined>());
  for (const [position, { promise }] of checks.entries()) {
    expect(pending.room()).toBeUndefined();
    pending.add(position, promise);
  }
  const room = pending.room();
  expect(room).toBeInstanceOf(Promise);
  checks[0]?.resolve(undefined);
  checks[1]?.resolve(undefined);
  await room;
  expect(pending.room()).toBeUndefined();
  checks[2]?.resolve(undefined);
  checks[3]?.resolve(undefined);
  expect(await pending.settle()).toBeUndefined();
});

test('what a check throws is thrown when all are settled, unless an earlier one found something', async () => {
  const thrown = new Error('The disk is away.');
  const pending = createPendingChecks(4);
  pending.add(2, Promise.reject(thrown));
  await expect(pending.settle()).rejects.toBe(thrown);
  pending.add(1, Promise.resolve(at(1)));
  expect(await pending.settle()).toEqual(at(1));
});
