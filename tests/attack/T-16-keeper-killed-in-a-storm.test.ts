/**
 * T-16: the keeper of a tool is killed (by the kernel, which wants memory, or by hand) while hundreds of the tool's processes fork
 * without end, and they outlast the end that is told. Here no cgroup holds them: the launcher alone is there to end them.
 */
import { expect, test } from 'vitest';
import { launch, openLauncher, python } from '../integration/launched-job.ts';
import { childrenOf, IS_ROOT, processesWith, uniqueMark, until } from './sandboxed.ts';

const STORM = `
import os
os.write(1, b'x')
while True:
  try:
    if os.fork() == 0: os.setsid()
  except BlockingIOError: pass
`;

test.skipIf(!IS_ROOT)('nobody is left of a storm whose keeper was killed [needs: root]', async () => {
  const mark = uniqueMark();
  await using launcher = await openLauncher();
  // Of the user that nobody else is.
  const plan = python(STORM, { rlimits: [{ name: 'nproc', soft: 300, hard: 300 }] });
  const job = launch(launcher, { ...plan, tool: { ...plan.tool, argv: [...plan.tool.argv, mark] as const } });
  await job.untilOutput('x');
  const [keeper = 0] = childrenOf(launcher.about.pid);
  await until('there are hundreds', () => processesWith(mark).length > 250);
  process.kill(keeper, 'SIGKILL');
  const ended = await job.ended;
  expect([ended.kind, processesWith(mark).length]).toEqual(['ended', 0]);
});
