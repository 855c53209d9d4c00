import { existsSync } from 'node:fs';
import { expect, test } from 'vitest';
import { barePlan, isRoot, launch, openLauncher, until } from './launched-job.ts';

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
