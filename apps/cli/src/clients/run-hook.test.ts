import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { runHook } from './run-hook.ts';

test('a hook is told the message, and its answer is how it ends and what it says', async () => {
  const never = new AbortController().signal;
  expect(await runHook('cat >&2; false || exit 2', 'hello', never)).toEqual({ code: 2, stderr: 'hello' });
  expect(await runHook('kill -9 $$', '', never)).toEqual({ code: -1, stderr: '' });
});

test('one that says nothing is called off, and what its shell started with it', async () => {
  const place = mkdtempSync(join(tmpdir(), 'palyra-run-hook-'));
  const pid = join(place, 'pid');
  const stop = new AbortController();
  const answer = runHook(`sh -c 'echo $$ > ${pid}; exec sleep 300' || exit 2`, '', stop.signal);
  await expect.poll(() => existsSync(pid) && readFileSync(pid, 'utf8').endsWith('\n')).toBe(true);
  stop.abort();
  expect(await answer).toBeUndefined();
  const sleeper = Number(readFileSync(pid, 'utf8'));
  await expect.poll(() => isRunning(sleeper)).toBe(false);
  rmSync(place, { recursive: true });
});

/** One that was killed and that nobody has fetched yet does not run. */
function isRunning(pid: number): boolean {
  try {
    return !/^State:\tZ/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
}
