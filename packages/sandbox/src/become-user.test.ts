import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { actAs, becomeUser } from './become-user.ts';

const IS_ROOT = process.geteuid?.() === 0;
const MODULE = fileURLToPath(new URL('./become-user.ts', import.meta.url));
const USER = { uid: 64_341, gid: 64_342 };

/** In a process of its own: there is no way back. */
function inChild(script: string): unknown {
  const argv = ['--conditions=palyra-source', '--input-type=module', '-e'];
  const text = `import { actAs, becomeUser } from ${JSON.stringify(MODULE)};
    const user = ${JSON.stringify(USER)};
    const ids = () => [process.getuid(), process.geteuid(), process.getgid(), process.getegid(), process.getgroups().length];
    ${script}`;
  const { stdout, stderr } = spawnSync(process.execPath, [...argv, text], { encoding: 'utf8' });
  return stdout === '' ? stderr : JSON.parse(stdout);
}

test.runIf(IS_ROOT)('root is given up, groups too [needs: root]', () => {
  const { uid, gid } = USER;
  // Node counts the group itself among the groups.
  expect(inChild('becomeUser(user); console.log(JSON.stringify(ids()))')).toEqual([
    uid,
    uid,
    gid,
    gid,
    expect.any(Number),
  ]);
});

test.runIf(IS_ROOT)('and is had back only after acting for somebody [needs: root]', () => {
  const script = `const during = await actAs(user, async () => ids());
    console.log(JSON.stringify([during, ids()]));`;
  const { uid, gid } = USER;
  expect(inChild(script)).toEqual([
    [0, uid, 0, gid, expect.any(Number)],
    [0, 0, 0, 0, expect.any(Number)],
  ]);
});

test.each([
  [0, 5],
  [5, 0],
  [-1, 5],
  [5, 2 ** 32 - 1],
  [1.5, 5],
])('uid %s with gid %s is no ordinary user (T-42)', async (uid, gid) => {
  const fault = expect.objectContaining({ code: 'sandbox.unsafe_identity', message: 'That is no ordinary user.' });
  expect(() => becomeUser({ uid, gid })).toThrow(fault);
  await expect(actAs({ uid, gid }, async () => {})).rejects.toThrow(fault);
});

test.runIf(IS_ROOT)('only root can become somebody else [needs: root]', () => {
  const script = `becomeUser(user);
    try { becomeUser(user); } catch ({ code, message }) { console.log(JSON.stringify([code, message])); }`;
  expect(inChild(script)).toEqual(['sandbox.unsafe_identity', 'Only root can become another user.']);
});
