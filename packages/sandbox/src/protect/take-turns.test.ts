import { expect, it } from 'vitest';
import type { ProtectedPlace } from './create-protection.ts';
import { createTurns } from './take-turns.ts';

const placeOf = (root: string, lifted: readonly string[] = []): ProtectedPlace => ({
  roots: [root],
  gitDirectories: [],
  lifted,
  mounts: false,
});

it('lets commands in that may write nothing protected, and one that may only alone', async () => {
  const turns = createTurns();
  const [one, other] = [await turns.enter(placeOf('/a')), await turns.enter(placeOf('/a/b'))];
  expect(await turns.enter(placeOf('/a', ['/a/CLAUDE.md']))).toBeUndefined();
  one?.();
  expect(await turns.enter(placeOf('/a/b', ['/a/b/CLAUDE.md']))).toBeUndefined();
  other?.();
  expect(await turns.enter(placeOf('/a', ['/a/CLAUDE.md']))).toBeDefined();
  expect(await turns.enter(placeOf('/a', ['/a/AGENTS.md']))).toBeUndefined();
});

it('is of no concern to those who are elsewhere, or lift what they cannot write', async () => {
  const turns = createTurns();
  await turns.enter(placeOf('/a', ['/a/CLAUDE.md']));
  expect(await turns.enter(placeOf('/b'))).toBeDefined();
  expect(await turns.enter(placeOf('/b', ['/c']))).toBeDefined();
});

it('has others wait, until it is over or they are aborted', async () => {
  const turns = createTurns();
  const leave = await turns.enter(placeOf('/a', ['/a/CLAUDE.md']));
  const order: string[] = [];
  const waiting = turns.enter(placeOf('/a')).then(() => order.push('in'));
  const abort = new AbortController();
  const aborted = turns.enter(placeOf('/a'), abort.signal);
  abort.abort(new Error('enough'));
  await expect(aborted).rejects.toThrow('enough');
  order.push('out');
  leave?.();
  await waiting;
  expect(order).toEqual(['out', 'in']);
});
