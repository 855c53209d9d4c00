/**
 * T-18: a tool gets capabilities or a user namespace, and the filter, the change of user and the comparison of facts are not
 * there to stop it. Each option of the box is shown to do so alone: the attack works where only this one is missing.
 */
import { existsSync } from 'node:fs';
import { BOX_USER } from '@palyra/sandbox';
import { beforeAll, expect, test } from 'vitest';
import { type BoxEnd, changed, type PlannedBox, planBox, runBox } from './planned-box.ts';
import { describeBothWays, type Place } from './sandboxed.ts';

/** Prints what it holds, and what every attempt came to: a name and what was done or why not. */
const USE_CAPABILITIES = `
import ctypes, errno, os
libc = ctypes.CDLL(None, use_errno=True)
NEWNS, NEWUTS, NEWUSER = 0x20000, 0x4000000, 0x10000000
def attempt(name, *calls):
  for call in calls:
    if call() != 0:
      print(name, errno.errorcode[ctypes.get_errno()])
      return
  print(name, 'done')
def sets():
  held = [line.split() for line in open('/proc/self/status') if line.startswith(('CapPrm', 'CapEff', 'CapBnd'))]
  print(*(f'{name[3:-1]}:' + ('none' if int(value, 16) == 0 else 'some') for name, value in held))
def use():
  sets()
  attempt('mount', lambda: libc.unshare(NEWNS), lambda: libc.mount(b'none', b'/etc', b'tmpfs', 0, None))
  attempt('rename', lambda: libc.unshare(NEWUTS), lambda: libc.sethostname(b'mine', 4))
  attempt('chroot', lambda: libc.chroot(b'/usr'))
`;
const TAKE_NAMESPACE = `${USE_CAPABILITIES}
attempt('namespace', lambda: libc.unshare(NEWUSER))
use()
`;

/** Which of the kernel's settings it could write: opened, and left as they are. */
const OPEN_SETTINGS = `
import os
for at, _, names in os.walk('/proc/sys'):
  for name in names:
    try: os.close(os.open(os.path.join(at, name), os.O_WRONLY)); print(os.path.join(at, name))
    except OSError: pass
print('end')
`;

const NOTHING = ['Prm:none Eff:none Bnd:none', 'mount EPERM', 'rename EPERM', 'chroot EPERM'];
const EVERYTHING = ['Prm:some Eff:some Bnd:some', 'mount done', 'rename done', 'chroot done'];

const LAST_PID = '/proc/sys/kernel/ns_last_pid';

/** Who is root where palyrad runs: of the host, or of a container that an ordinary user made. */
const asItsRoot = ({ uid }: Place) => (uid === 0 ? [] : ['unshare', '--user', '--map-root-user', '--']);

describeBothWays((place) => {
  let box: PlannedBox;
  beforeAll(async () => {
    box = await planBox(place());
  });

  const python = ['/usr/bin/python3', '-c'];
  const linesOf = ({ stdout, stderr }: BoxEnd) => `${stdout}${stderr}`.trim().split('\n');

  test('--cap-drop ALL: nothing is left of what root has, were the box root’s and its user too', async () => {
    const attack = [...python, `${USE_CAPABILITIES}\nuse()`];
    const run = async (made: PlannedBox) =>
      linesOf(await runBox(place(), made, attack, { through: asItsRoot(place()) }));
    // Another user would lose them by executing something, and only what it may get back would be left.
    const roots = changed(box, {
      instead: [
        [
          ['--uid', String(BOX_USER.uid)],
          ['--uid', '0'],
        ],
        [
          ['--gid', String(BOX_USER.gid)],
          ['--gid', '0'],
        ],
      ],
    });
    const without = [['--cap-drop', 'ALL']] as const;
    expect(await run(box)).toEqual(NOTHING);
    expect(await run(roots)).toEqual(NOTHING);
    expect(await run(changed(box, { without }))).toEqual(['Prm:none Eff:none Bnd:some', ...NOTHING.slice(1)]);
    expect(await run(changed(roots, { without }))).toEqual(EVERYTHING);
  });

  test('--disable-userns: there is no user namespace in which the tool would have everything', async () => {
    const attack = [...python, TAKE_NAMESPACE];
    const run = async (made: PlannedBox) => linesOf(await runBox(place(), made, attack));
    expect(await run(box)).toEqual(['namespace ENOSPC', ...NOTHING]);
    const without = [['--disable-userns']] as const;
    expect(await run(changed(box, { without }))).toEqual(['namespace done', ...EVERYTHING]);
  });

  test('--ro-bind /proc/sys: no setting of the kernel can be written, were the box root’s', async () => {
    const run = async (made: PlannedBox) => linesOf(await runBox(place(), made, [...python, OPEN_SETTINGS]));
    expect(await run(box)).toEqual(['end']);
    const opened = await run(changed(box, { without: [['--ro-bind', '/proc/sys', '/proc/sys']] }));
    // Most are root's; the last pid is everybody's who made a pid namespace.
    const ours = place().uid === 0 ? ['/proc/sys/kernel/core_pattern', '/proc/sys/kernel/modprobe'] : [LAST_PID];
    expect(opened).toEqual(expect.arrayContaining(ours.filter((path) => existsSync(path))));
    expect(opened.at(-1)).toBe('end');
  });
});
