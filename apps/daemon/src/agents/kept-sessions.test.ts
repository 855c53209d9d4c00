import { expect, test } from 'vitest';
import { createKeptSessions } from './kept-sessions.ts';

function kept() {
  const left: string[] = [];
  const begun: string[] = [];
  const sessions = createKeptSessions<{ readonly name: string }>({ leave: ({ name }) => void left.push(name) });
  const open = (name: string) =>
    sessions.open(name, async () => {
      begun.push(name);
      return { name };
    });
  return { sessions, open, left, begun };
}

test('SECURITY: T-39 — whoever names another session each time has 1024 of them, and the oldest are left', async () => {
  const { sessions, open, left, begun } = kept();
  for (let at = 0; at < 3000; at += 1) await open(`s${at}`);
  expect(left).toEqual(Array.from({ length: 3000 - 1024 }, (_, at) => `s${at}`));
  expect([sessions.get('s1975'), await sessions.get('s1976')]).toEqual([undefined, { name: 's1976' }]);
  // One that is kept is begun no second time, and one that was left is.
  await Promise.all([open('s2999'), open('s0')]);
  expect(begun.slice(3000)).toEqual(['s0']);
  sessions.close();
  await Promise.resolve();
  expect(left).toHaveLength(3001);
});

test('one that cannot be begun is none, is tried again, and harms nobody when it is left', async () => {
  const { sessions, open, left } = kept();
  const fails = () => Promise.reject(new Error('no'));
  await expect(sessions.open('x', fails)).rejects.toThrow('no');
  expect(sessions.get('x')).toBeUndefined();
  expect(await open('x')).toEqual({ name: 'x' });
  const failing = sessions.open('y', fails);
  sessions.close();
  await expect(failing).rejects.toThrow('no');
  expect(left).toEqual(['x']);
});

test('what is over, or taken, is kept no longer', async () => {
  const { sessions, open, left } = kept();
  const [one] = await Promise.all([open('a,1'), open('a,2'), open('b,1')]);
  sessions.forget(one);
  await Promise.resolve();
  expect(await sessions.take((key) => key.startsWith('a,'))).toEqual([{ name: 'a,2' }]);
  expect([sessions.get('a,2'), await sessions.get('b,1')]).toEqual([undefined, { name: 'b,1' }]);
  expect(left).toEqual(['a,1', 'a,2']);
});
