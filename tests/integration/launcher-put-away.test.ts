import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import type { Launcher } from '../../packages/sandbox/src/launcher/start-launcher.ts';
import { launch, openLauncher, shell, until } from './launched-job.ts';

/** The launcher's children: a keeper for each job, until that was put away. */
function keepersOf(pid: number): number {
  return readdirSync(`/proc/${pid}/task`)
    .flatMap((task) => readFileSync(`/proc/${pid}/task/${task}/children`, 'utf8').split(' '))
    .filter((child) => child !== '').length;
}

/** Says more than anybody hears, and what it says is thrown away. */
function speak(launcher: Launcher): { readonly heard: () => number; readonly stop: () => Promise<void> } {
  const over = Promise.withResolvers<void>();
  let heard = 0;
  const job = launcher.start(
    shell('exec yes', { watch: { outputBytes: 2 ** 40 } }),
    {
      facts: () => job.go(),
      output(_stream, { length }) {
        heard += length;
        job.allow(length);
      },
      taken: () => {},
      ended: () => over.resolve(),
      failed: (message) => over.reject(new Error(message)),
      lost: (error) => over.reject(error),
    },
    { stdin: false },
  );
  job.allow(2 ** 24);
  return {
    heard: () => heard,
    stop() {
      job.kill();
      return over.promise;
    },
  };
}

test('jobs that never stop speaking keep nothing of others that have ended', async () => {
  await using launcher = await openLauncher();
  const speakers = [speak(launcher), speak(launcher), speak(launcher)];
  await until(() => speakers.every(({ heard }) => heard() > 0));
  for (let count = 0; count < 20; count += 1) await launch(launcher, shell('true')).ended;
  await until(() => keepersOf(launcher.about.pid) === speakers.length);
  const before = speakers.map(({ heard }) => heard());
  await until(() => speakers.every(({ heard }, at) => heard() > (before[at] ?? 0)));
  for (const { stop } of speakers) await stop();
  await until(() => keepersOf(launcher.about.pid) === 0);
  expect(before.every((heard) => heard > 0)).toBe(true);
});

test('as many as there are places end and begin without a pause, also with the places of those not yet put away', async () => {
  await using launcher = await openLauncher();
  const round = () => Array.from({ length: 250 }, () => launch(launcher, shell('exit 7')).ended);
  for (let count = 0; count < 3; count += 1) {
    const ends = await Promise.all(round());
    expect(ends.filter((end) => end.kind !== 'ended' || end.report.exitCode !== 7)).toEqual([]);
  }
  await until(() => keepersOf(launcher.about.pid) === 0);
});
