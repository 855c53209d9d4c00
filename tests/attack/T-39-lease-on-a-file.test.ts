/**
 * T-39: a tool takes a lease on a file of its workspace. Whoever opens that file then waits for it, palyrad at its next look and
 * the operator's editor included, for 45 seconds each time.
 */
import { spawnSync } from 'node:child_process';
import { chownSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { as } from './sandbox-daemon.ts';
import { describeBothWays, IS_ROOT, python, tierB, tierC } from './sandboxed.ts';

/** A lease that others wait for, and one that only those wait for who would write. */
const TAKE = `
import errno, fcntl, os
for name in ('.git', 'notes'):
  for kind in (fcntl.F_WRLCK, fcntl.F_RDLCK):
    file = os.open(name, os.O_RDONLY)
    try: fcntl.fcntl(file, 1024, kind); print('had')
    except OSError as error: print(errno.errorcode[error.errno])
    os.close(file)
`;
const HAD = 'had\n'.repeat(4);
const REFUSED = 'EPERM\n'.repeat(4);

describeBothWays((place) => {
  function plant(): void {
    const { workspace, uid } = place();
    // A worktree's, which is read before each command.
    for (const [name, text] of [
      ['.git', 'gitdir: /nowhere\n'],
      ['notes', 'mine\n'],
    ] as const) {
      writeFileSync(join(workspace, name), text);
      if (IS_ROOT) chownSync(join(workspace, name), uid, uid);
    }
  }

  test('outside of a sandbox it is had, so the attack itself works', () => {
    plant();
    const [file = '', ...args] = as(place(), python(TAKE).argv);
    const { stdout } = spawnSync(file, args, {
      cwd: place().workspace,
      encoding: 'utf8',
      env: { PATH: '/usr/bin:/bin' },
    });
    expect(stdout).toBe(HAD);
  });

  test.each([
    ['B', tierB],
    ['C', tierC],
  ] as const)('in Tier %s there is none', async (_tier, profile) => {
    plant();
    const { stdout } = await place().daemon.run(python(TAKE), profile(place()));
    expect(stdout).toBe(REFUSED);
  });
});
