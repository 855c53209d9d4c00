// T-16: while bubblewrap is being linked, another process of ours puts the root together. Whoever of the others is ended in that
// moment, it ends too, and nobody is left to be waited for.
import { existsSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import type { Launcher } from '../../packages/sandbox/src/launcher/start-launcher.ts';
import { openLauncher } from '../integration/launched-job.ts';
import { type HeldStager, holdStager } from './held-stager.ts';
import { statusOf, until } from './sandboxed.ts';

function parentOf(pid: number): number {
  return Number(statusOf(pid, 'PPid'));
}

const ENDINGS: readonly (readonly [string, (held: HeldStager) => void])[] = [
  ['the call is cancelled', ({ job }) => job.kill()],
  ['bubblewrap is killed', ({ bubblewrap }) => void process.kill(bubblewrap, 'SIGKILL')],
  [
    'it is killed itself',
    ({ job, stager }) => {
      process.kill(stager, 'SIGKILL');
      job.kill();
    },
  ],
];

async function expectNothingLeft(launcher: Launcher, end: (held: HeldStager) => void): Promise<void> {
  const held = await holdStager(launcher, 'exit');
  const keeper = parentOf(held.bubblewrap);
  end(held);
  await held.job.ended;
  // Not even a zombie.
  const isThere = (pid: number) => existsSync(`/proc/${pid}`);
  await until('all are gone', () => ![held.stager, held.bubblewrap, keeper].some(isThere));
}

test.each(ENDINGS)('when %s, nothing is left', async (_, end) => {
  await using launcher = await openLauncher();
  await expectNothingLeft(launcher, end);
});

test('when the keeper is killed, nothing is left, however soon that is noticed', async () => {
  await using launcher = await openLauncher();
  // Between the end of its pipe and the moment in which its tree is the launcher's: one in six was too soon.
  for (let round = 0; round < 25; round += 1) {
    await expectNothingLeft(launcher, ({ bubblewrap }) => process.kill(parentOf(bubblewrap), 'SIGKILL'));
  }
});

test('when the launcher and the keeper are killed at once, nothing is left', async () => {
  await using launcher = await openLauncher();
  const { stager, bubblewrap } = await holdStager(launcher, 'exit');
  const keeper = parentOf(bubblewrap);
  for (const pid of [parentOf(keeper), keeper]) process.kill(pid, 'SIGKILL');
  // Whoever adopts them may take its time to reap them.
  const alive = () => [stager, bubblewrap].filter((pid) => /^[^Z]/.test(statusOf(pid, 'State')));
  await until('all have ended', () => alive().length === 0);
  expect(alive()).toEqual([]);
});

test('it has the limits of the sandbox for its own', async () => {
  await using launcher = await openLauncher();
  const { stager, bubblewrap } = await holdStager(launcher, 'exit');
  for (const field of ['Uid', 'Gid', 'Groups', 'NoNewPrivs']) {
    expect([field, statusOf(stager, field)]).toEqual([field, statusOf(bubblewrap, field)]);
  }
  expect(statusOf(stager, 'NoNewPrivs')).toBe('1');
  expect(readFileSync(`/proc/${stager}/cgroup`, 'utf8')).toBe(readFileSync(`/proc/${bubblewrap}/cgroup`, 'utf8'));
});
