import { existsSync } from 'node:fs';
import { expect, test } from 'vitest';
import { barePlan, inBubblewrap, isRoot, launch, openLauncher, until } from './launched-job.ts';

// Limits are set while the process that joins the cgroup is being made, and that one is ended then.
test.skipIf(!isRoot)(
  'a limit that the kernel does not take ends its job, and nothing is left [needs: root]',
  async () => {
    await using launcher = await openLauncher();
    const hierarchy = existsSync('/sys/fs/cgroup/pids') ? '/sys/fs/cgroup/pids' : '/sys/fs/cgroup';
    const directory = `${hierarchy}/palyra-${process.pid}-limit`;
    const settings = [{ file: 'pids.max', value: 'many' }];
    const job = launch(launcher, { ...barePlan(['/bin/true']), cgroups: [{ directory, settings, counters: [] }] });
    expect(await job.ended).toEqual({
      kind: 'failed',
      message: 'a limit of the cgroup cannot be set: Invalid argument',
    });
    await until(() => !existsSync(directory));
  },
);

/** Outlasts the limit below; what it says begins the time without output, in which it is not idle yet. */
const SLOW = ['/bin/sh', '-c', 'echo slow >&2; sleep 2.5; exec "$@"', 'sh'];

test('a sandbox that takes longer to be made than its command may run is made all the same', async () => {
  await using launcher = await openLauncher();
  const watch = { wallMs: 2000, idleMs: 2000 };
  const box = inBubblewrap('--unshare-user --unshare-pid');
  const wrapper = [...SLOW, ...(box.wrapper ?? [])];
  const job = launch(launcher, barePlan(['/bin/echo', 'ran'], { ...box, wrapper, watch }));
  const ended = await job.ended;
  expect(ended).toMatchObject({ kind: 'ended', report: { started: true, reason: 'none', exitCode: 0 } });
  expect(job.output().toString()).toBe('ran\n');
});
