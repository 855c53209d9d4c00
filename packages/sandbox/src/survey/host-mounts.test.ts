import { expect, test } from 'vitest';
import { createHostMounts } from './host-mounts.ts';

const ROOT = '20 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw';
const PROC = '22 20 0:21 / /proc rw,nosuid - proc proc rw';
const FORMATS = '23 22 0:30 / /proc/sys/fs/binfmt_misc rw,relatime shared:9 - autofs systemd-1 rw,fd=29,direct';
const FORMATS_SEEN = '24 23 0:31 / /proc/sys/fs/binfmt_misc rw,nosuid - binfmt_misc binfmt_misc rw';
const VOLUME = '25 20 0:32 / /work/my\\040shop/node_modules rw - ext4 /dev/sdb1 rw';
const DRIVERS = '26 20 0:33 / /usr/lib/wsl/drivers ro,relatime - 9p drivers rw';

const inside = (lines: readonly string[], ...shown: readonly string[]) =>
  createHostMounts({ readText: () => lines.map((line) => `${line}\n`).join('') })({ system: SYSTEM, shown, wall });
const wall = (path: string) => (/^\/(?:home(?:\/ada(?:\/\.ssh)?)?|run)?$/.test(path) ? 'Not to be shown.' : undefined);
const SYSTEM = ['/proc/sys', '/usr'];

test('what is mounted below a path is there as often as it is mounted', () => {
  const lines = [ROOT, PROC, FORMATS, FORMATS_SEEN, VOLUME, DRIVERS];
  const formats = { at: '/proc/sys/fs/binfmt_misc', writable: true };
  expect(inside(lines, '/work/my shop')).toEqual([
    formats,
    formats,
    { at: '/work/my shop/node_modules', writable: true },
    { at: '/usr/lib/wsl/drivers', writable: false },
  ]);
});

test('neither what is mounted at the path itself nor what only begins like it', () => {
  expect(inside([ROOT, VOLUME], '/work/my shop/node_modules', '/work/my')).toEqual([]);
});

test('what lies under another mount is not seen from above', () => {
  const over = '27 20 0:34 / /work rw - tmpfs over rw';
  expect(inside([ROOT, VOLUME, over], '/work/my shop')).toEqual([]);
  expect(inside([ROOT, over, VOLUME.replace('25 20', '25 27')], '/work/my shop')).toHaveLength(1);
});

test('a table that changes is read again, and of one that cannot be read nothing is expected', () => {
  let text = `${ROOT}\n`;
  const look = createHostMounts({ readText: () => text });
  const question = { system: SYSTEM, shown: [], wall };
  expect(look(question)).toEqual([]);
  text = `${ROOT}\n${DRIVERS}\n`;
  expect(look(question)).toHaveLength(1);
  text = `${ROOT}\n${DRIVERS}\nnonsense\n`;
  expect(look(question)).toEqual([]);
});

test.each([
  ['a home', '30 20 8:1 /home/ada /work/shop/home rw - ext4 /dev/sda1 rw'],
  ['keys', '30 20 8:1 /home/ada/.ssh /work/shop/keys rw - ext4 /dev/sda1 rw'],
  ['all of the host', '30 20 8:1 / /work/shop/host rw - ext4 /dev/sda1 rw'],
  ['sockets', '30 20 0:40 / /work/shop/run rw - tmpfs tmpfs rw'],
  ['what the sockets lie in', '30 20 0:41 / /work/shop/run rw - tmpfs tmpfs rw'],
  ['processes', '30 20 0:21 / /work/shop/proc rw - proc proc rw'],
])('SECURITY: T-19 — %s by another name is not expected', (_, line) => {
  const run = ['40 20 0:40 / /run rw - tmpfs tmpfs rw', '41 20 0:41 /part /run rw - tmpfs tmpfs rw'];
  expect(inside([ROOT, PROC, ...run, line], '/work/shop')).toEqual([]);
  expect(
    inside(
      [ROOT, PROC, ...run, line.replace(/ 8:1 \S+| 0:\d+ \S+/, ' 8:1 /data').replace('- proc', '- ext4')],
      '/work/shop',
    ),
  ).toHaveLength(1);
});
