import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, test } from 'vitest';

test.each([0, -0, 1, -1, Number.NaN])('a signal to %s is not sent, not even one that does nothing', (pid) => {
  expect(() => process.kill(pid, 0)).toThrow(RangeError);
});

test('a process, and the group of one, are signalled as ever', async () => {
  const child = spawn('sleep', ['100'], { detached: true });
  await once(child, 'spawn');
  const pid = child.pid ?? 0;
  expect(process.kill(pid, 0)).toBe(true);
  process.kill(-pid, 'SIGKILL');
  expect(await once(child, 'close')).toEqual([null, 'SIGKILL']);
});
