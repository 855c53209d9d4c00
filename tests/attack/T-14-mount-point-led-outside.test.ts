// T-14: a link in the workspace stands where something is to be mounted, so that it is made, or mounted, on the host.
import { chownSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createSandbox } from '@palyra/sandbox';
import { expect, test } from 'vitest';
import { launch, openLauncher } from '../integration/launched-job.ts';
import { sandboxProfile } from '../sandbox-profile.ts';
import { IS_ROOT } from './sandboxed.ts';

const OWNER = 71_234;

/** The plan of an innocent command, and with it mounts that no planner asks for: it looked before there was a link. */
async function planIn(workspace: string, ...words: readonly string[]) {
  const places = { path: '/usr/bin:/bin', home: '/nonexistent', palyraHome: '/nonexistent/.palyra', environment: {} };
  const sandbox = await createSandbox({ operator: places, logger: { error: () => {} } });
  const planned = await sandbox.plan({ argv: ['true'] }, sandboxProfile(workspace));
  await sandbox.close();
  if (planned.kind === 'refused') throw new Error(planned.message);
  const { wrapper = [], watch } = planned.plan;
  // Before the root becomes read-only, and the two words of the stage.
  const at = wrapper.lastIndexOf('--remount-ro');
  return {
    ...planned.plan,
    cgroups: [],
    watch: { ...watch, treeCpuMs: undefined, cpuCounter: undefined },
    wrapper: wrapper.toSpliced(at, 0, ...words),
  };
}

test('what is mounted behind a link is not mounted, and nothing is made where the link leads', async () => {
  const base = mkdtempSync(join(tmpdir(), 'palyra-attack-'));
  const [workspace, outside] = [join(base, 'work'), join(base, 'outside')];
  for (const path of [base, workspace, outside]) {
    mkdirSync(path, { recursive: true });
    if (IS_ROOT) chownSync(path, OWNER, OWNER);
  }
  symlinkSync(outside, join(workspace, 'link'));
  symlinkSync('../outside', join(workspace, 'up'));
  symlinkSync(join(outside, 'missing'), join(workspace, 'dangling'));
  await using launcher = await openLauncher();
  for (const words of [
    ['--tmpfs', join(workspace, 'link/made')],
    ['--tmpfs', join(workspace, 'up/made')],
    ['--ro-bind', '/usr', join(workspace, 'link/made')],
    ['--ro-bind', '/dev/null', join(workspace, 'link/made')],
    ['--ro-bind', '/dev/null', join(workspace, 'dangling')],
    ['--symlink', '/', join(workspace, 'link/made')],
    ['--perms', '0444', '--file', '11', join(workspace, 'link/made')],
  ]) {
    const ended = await launch(launcher, await planIn(workspace, ...words)).ended;
    expect({ words, ended, outside: readdirSync(outside) }).toEqual({
      words,
      ended: { kind: 'failed', message: expect.stringContaining("the sandbox's root cannot be put together") },
      outside: [],
    });
  }
  rmSync(base, { recursive: true });
});
