/**
 * T-40, T-17: a Tier B tool with the uid that a cgroup was given to, as systemd gives one to every user, leaves its own limits by
 * moving to another, takes them off, or ends everybody in palyrad's with `cgroup.kill`, which is no signal to Landlock.
 */
import { spawnSync } from 'node:child_process';
import { chownSync, existsSync, mkdirSync, readdirSync, rmdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { as } from './sandbox-daemon.ts';
import { describeOrdinary, IS_ROOT, python, tierB, uniqueMark } from './sandboxed.ts';

const HIERARCHY = existsSync('/sys/fs/cgroup/cgroup.controllers') ? '/sys/fs/cgroup' : '/sys/fs/cgroup/pids';

/** Opened to be written, or made. The place is no argument: that would be refused for where it leads. */
const write = (cgroup: string) =>
  python(`
import os
place = '${cgroup}'
opened = []
for name in sorted(os.listdir(place)):
  try: os.close(os.open(f'{place}/{name}', os.O_WRONLY)); opened.append(name)
  except OSError: pass
try: os.mkdir(f'{place}/palyra-1-1-1'); os.rmdir(f'{place}/palyra-1-1-1'); opened.append('made')
except OSError: pass
print('members', open(f'{place}/cgroup.procs').read() == '', 'opened', opened)
`);

describe.runIf(IS_ROOT)('a cgroup that was given to the user [needs: root]', () => {
  describeOrdinary((place) => {
    let cgroup: string;
    beforeEach(() => {
      cgroup = join(HIERARCHY, uniqueMark());
      mkdirSync(cgroup);
      for (const at of ['.', ...readdirSync(cgroup)]) chownSync(join(cgroup, at), place().uid, place().uid);
    });
    afterEach(() => rmdirSync(cgroup));

    test('is written outside of a sandbox, so the attack itself works', () => {
      const [file = '', ...args] = as(place(), write(cgroup).argv);
      const { stdout } = spawnSync(file, args, { encoding: 'utf8', env: { PATH: '/usr/bin:/bin' } });
      expect(stdout).toContain("'cgroup.procs'");
      expect(stdout).toContain("'made'");
    });

    test('is read in Tier B, and not written', async () => {
      const { stdout } = await place().daemon.run(write(cgroup), tierB(place()));
      expect(stdout).toBe('members True opened []\n');
    });
  });
});
