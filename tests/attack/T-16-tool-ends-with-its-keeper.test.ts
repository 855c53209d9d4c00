/**
 * T-16: a tool of Tier B lives on when its keeper was killed. Cgroups and the launcher end it as well: here there is no cgroup,
 * the launcher is held, and the kernel's word to the tool is all that there is.
 */
import { expect, test } from 'vitest';
import { launch, openLauncher, shell } from '../integration/launched-job.ts';
import { childrenOf, processesWith, statusOf, uniqueMark, until } from './sandboxed.ts';

test('a tool ends with its keeper, also when nobody else is there to end it', async () => {
  const mark = uniqueMark();
  await using launcher = await openLauncher();
  const { pid } = launcher.about;
  const job = launch(launcher, shell(`echo ready; exec tail -f /dev/null ${mark}`));
  await job.untilOutput('ready');
  const keepers = childrenOf(pid);
  process.kill(pid, 'SIGSTOP');
  try {
    await until('the launcher is held', () => statusOf(pid, 'State').startsWith('T'));
    expect([keepers.length, processesWith(mark).length]).toEqual([1, 1]);
    for (const keeper of keepers) process.kill(keeper, 'SIGKILL');
    await until('the tool is gone', () => processesWith(mark).length === 0);
  } finally {
    process.kill(pid, 'SIGCONT');
  }
  await job.ended;
});
