import { expect, test } from 'vitest';
import { createTurnstile } from './turnstile.ts';

test('lets so many through at once, the others in order, and turns away too many', async () => {
  const turnstile = createTurnstile(2, 2);
  const log: string[] = [];
  const finish: (() => void)[] = [];
  const enter = (name: string) =>
    turnstile.pass(async () => {
      log.push(name);
      await new Promise<void>((resolve) => finish.push(resolve));
    });
  const passes = ['a', 'b', 'c', 'd'].map(enter);
  await expect(enter('e')).rejects.toMatchObject({ code: 'storage.overloaded' });
  expect(log).toEqual(['a', 'b']);
  for (let i = 0; i < 4; i += 1) {
    await Promise.resolve();
    finish.shift()?.();
    await new Promise(setImmediate);
  }
  await Promise.all(passes);
  expect(log).toEqual(['a', 'b', 'c', 'd']);
});

test('whoever fails gives the place free', async () => {
  const turnstile = createTurnstile(1, 1);
  await expect(turnstile.pass(() => Promise.reject(new Error('no')))).rejects.toThrow('no');
  expect(await turnstile.pass(() => Promise.resolve('yes'))).toBe('yes');
});
