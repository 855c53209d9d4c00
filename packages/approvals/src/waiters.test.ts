import type { ApprovalId } from '@palyra/primitives';
import { expect, test } from 'vitest';
import { createWaiters, dueAt, type Waiter } from './waiters.ts';

function waiter(id: string, parkAt = Number.POSITIVE_INFINITY): Waiter {
  const asked = {
    kind: 'asked',
    approvalId: id as ApprovalId,
    principal: 'p',
    key: id,
    expiresAt: 100,
    how: 'new',
  } as const;
  return { asked, since: 0, parkAt, resolve: () => undefined, reject: () => undefined };
}

test('waiters are found by their card, and leave once', () => {
  const waiters = createWaiters();
  const [one, two, three] = [waiter('a'), waiter('a'), waiter('b')];
  for (const each of [one, two, three]) waiters.add(each);
  expect([waiters.size, waiters.of('a'), waiters.of('b'), waiters.of('c')]).toEqual([3, [one, two], [three], []]);
  expect([waiters.remove(one), waiters.remove(one), waiters.remove(two), waiters.remove(three)]).toEqual([
    true,
    false,
    true,
    true,
  ]);
  expect([waiters.size, Array.from(waiters.all()), Array.from(waiters.ids())]).toEqual([0, [], []]);
});

test('a waiter is due when the question expires or it must be parked', () => {
  expect([dueAt(waiter('a')), dueAt(waiter('a', 50)), dueAt(waiter('a', 500))]).toEqual([100, 50, 100]);
});
