/**
 * T-42: the tool of a daemon that is root is root itself, whatever it is called inside: it reads root's files, sets the
 * kernel's core_pattern, keeps root's groups, or leaves setuid files behind.
 */
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  type Stats,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { startDaemon } from './sandbox-daemon.ts';
import {
  describeRoot,
  type Place,
  processesWith,
  python,
  sh,
  statusOf,
  tierB,
  tierC,
  uniqueMark,
  until,
} from './sandboxed.ts';

const SECRET = uniqueMark();
const OWNER = 64_321;
const TIERS = [
  ['B', tierB],
  ['C', tierC],
] as const;

/** The workspace is root's, or an ordinary user's. */
const OWNERS = [
  ['root', 0],
  ['an ordinary user', OWNER],
] as const;
const EVERY_WAY = TIERS.flatMap(([tier, profile]) =>
  OWNERS.map(([owner, uid]) => [tier, owner, profile, uid] as const),
);

/** All the ways that there are to get a setuid or setgid file. */
const LEAVE_SET_ID = `
import io, os, shutil, subprocess, tarfile
def attempt(act):
  try: act()
  except (OSError, subprocess.CalledProcessError, tarfile.TarError): pass
shutil.copy('/usr/bin/id', 'a')
attempt(lambda: os.chmod('a', 0o6755))
attempt(lambda: os.fchmod(os.open('a', os.O_RDONLY), 0o4755))
attempt(lambda: os.chmod('a', 0o2755, dir_fd=os.open('.', os.O_RDONLY)))
attempt(lambda: os.open('b', os.O_CREAT | os.O_WRONLY, 0o4755))
attempt(lambda: os.mknod('c', 0o104755))
attempt(lambda: subprocess.run(['install', '-m', '4755', '/usr/bin/id', 'd'], stderr=subprocess.DEVNULL))
attempt(lambda: subprocess.run(['cp', '-p', '/usr/bin/su', 'e'], stderr=subprocess.DEVNULL))
archive = tarfile.open('f.tar', 'w')
entry = tarfile.TarInfo('f')
entry.mode, entry.uid = 0o6755, 0
archive.addfile(entry, io.BytesIO())
archive.close()
attempt(lambda: subprocess.run(['tar', '-xpf', 'f.tar'], stderr=subprocess.DEVNULL))
attempt(lambda: os.mkdir('g', 0o7777))
attempt(lambda: os.open('g/h', os.O_CREAT | os.O_WRONLY, 0o2755))
attempt(lambda: os.chown('a', 0, 0))
attempt(lambda: os.setxattr('a', 'security.capability', bytes.fromhex('0100000200000000000000000000000000000000')))
attempt(lambda: os.mknod('disk', 0o060666, os.makedev(8, 0)))
print('end')
`;

const LIST_ATTRIBUTES = `
import os, sys
print([name for path in sys.argv[1:] for name in os.listxattr(path, follow_symlinks=False) if name.startswith('security.')])
`;

describeRoot((place) => {
  let workspaces: Readonly<Record<number, string>>;

  beforeAll(() => {
    const theirs = join(place().base, 'their-workspace');
    mkdirSync(theirs);
    chownSync(theirs, OWNER, OWNER);
    workspaces = { 0: place().workspace, [OWNER]: theirs };
    writeFileSync(join(place().base, 'roots-file'), SECRET, { mode: 0o600 });
  });

  const of = (uid: number): Pick<Place, 'workspace'> => ({ workspace: workspaces[uid] ?? '' });

  test.each(EVERY_WAY)(
    'Tier %s, workspace of %s: the host sees another uid than 0, and no groups',
    async (_tier, _owner, profile, uid) => {
      const mark = uniqueMark();
      const started = place().daemon.start(sh(`sleep 1000; : ${mark}`), profile(of(uid)));
      await started.running;
      await until('the tool runs', () => processesWith(mark).length > 0);
      const [pid = 0] = processesWith(mark);
      const found = ['Uid', 'Gid', 'Groups'].map((field) => statusOf(pid, field).split(/\s+/).filter(Boolean));
      started.cancel();
      await started.ended;
      const [uids = [], gids = [], groups = []] = found;
      expect(new Set([...uids, ...gids]).size).toBe(1);
      expect(uids).toHaveLength(4);
      // Nobody's, where the workspace is root's.
      expect(uids[0]).toMatch(uid === 0 ? /^87\d{4}$/ : String(uid));
      expect(groups).toEqual([]);
    },
  );

  test('groups of the daemon do not come along', async () => {
    const grouped = await startDaemon(place(), { through: ['setpriv', '--groups', '6,998,999', '--'] });
    expect(statusOf(grouped.pid, 'Groups').trim()).toBe('6 998 999');
    const answers = [];
    for (const [, profile] of TIERS)
      answers.push(await grouped.run(sh('grep ^Groups: /proc/self/status; id -G'), profile(place())));
    await grouped.close();
    // A refusal says nothing of groups either.
    expect(answers.map(({ kind }) => kind)).toEqual(['completed', 'completed']);
    const ids = answers.map(({ stdout }) => stdout.match(/\b(?:6|998|999)\b/g));
    expect(ids).toEqual([null, null]);
  });

  test.each(EVERY_WAY)(
    'Tier %s, workspace of %s: files that only root may read or write are closed',
    async (_tier, _owner, profile, uid) => {
      const before = readFileSync('/proc/sys/kernel/core_pattern', 'utf8');
      const { stdout } = await place().daemon.run(
        python(`
import os
for path in ('${place().base}/roots-file', '/etc/shadow', '/etc/gshadow', '/root/.bashrc', '/proc/kcore', '/dev/mem'):
  try: print(path, open(path).read(100))
  except OSError: pass
for path in ('/proc/sys/kernel/core_pattern', '/proc/sys/kernel/modprobe', '/proc/sysrq-trigger', '/etc/passwd', '/usr/bin/env', '/sys/kernel/uevent_helper'):
  try: os.close(os.open(path, os.O_WRONLY)); print('opened', path)
  except OSError: pass
for act in (lambda: os.setuid(0), lambda: os.setgid(0), lambda: os.setgroups([0]), lambda: os.chroot('/')):
  try: act(); print('done')
  except OSError: pass
print('end')
`),
        profile(of(uid)),
      );
      expect(stdout).toBe('end\n');
      expect(readFileSync('/proc/sys/kernel/core_pattern', 'utf8')).toBe(before);
    },
  );

  test.each(EVERY_WAY)(
    'Tier %s, workspace of %s: nothing stays behind that gives root’s rights to anybody',
    async (_tier, _owner, profile, uid) => {
      const root = of(uid).workspace;
      const { stdout } = await place().daemon.run(python(LEAVE_SET_ID), profile(of(uid)));
      expect(stdout).toBe('end\n');
      const left = readdirSync(root, { recursive: true }).map((name) => join(root, String(name)));
      const files = left.map((path) => ({ path, ...pick(lstatSync(path)) }));
      const attributes = execFileSync('python3', ['-c', LIST_ATTRIBUTES, ...left]).toString();
      for (const path of left) rmSync(path, { recursive: true, force: true });

      expect(files.length).toBeGreaterThan(2);
      // A setuid file of an ordinary user's own gives nobody more than that user's rights, and Tier B leaves it alone.
      const isRoots = (file: (typeof files)[number]) => file.owner === 0 || file.group === 0;
      expect(files.filter((file) => (file.mode & 0o6000) !== 0 && !file.isDirectory && isRoots(file))).toEqual([]);
      expect(files.filter(({ isDevice }) => isDevice)).toEqual([]);
      expect(attributes).toBe('[]\n');
    },
  );

  test.each(EVERY_WAY)(
    'Tier %s, workspace of %s: what the tool makes belongs to the workspace’s owner',
    async (_tier, _owner, profile, uid) => {
      const root = of(uid).workspace;
      writeFileSync(join(root, 'before'), 'before', { mode: 0o600 });
      chownSync(join(root, 'before'), uid, uid);
      const { stdout } = await place().daemon.run(
        sh('cat before; echo changed > before; mkdir -p made; echo x > made/file; ln -s made link'),
        profile(of(uid)),
      );
      expect(stdout).toBe('before');
      const owners = ['before', 'made', 'made/file', 'link'].map((name) => lstatSync(join(root, name)).uid);
      expect(owners).toEqual([uid, uid, uid, uid]);
      for (const name of ['before', 'made', 'link']) rmSync(join(root, name), { recursive: true });
    },
  );

  test('a workspace that belongs to nobody’s uid is refused', async () => {
    const root = join(place().base, 'nobodys');
    mkdirSync(root);
    chownSync(root, 65_534, 65_534);
    const ended = await place().daemon.run(sh('touch ran'), tierC({ workspace: root }));
    expect([ended.kind, ended.detail]).toEqual(['refused', 'sandbox.unsafe_identity']);
    expect(readdirSync(root)).toEqual([]);
  });

  test('a file of root in an ordinary user’s workspace stays closed to that user’s tool', async () => {
    const root = of(OWNER).workspace;
    writeFileSync(join(root, 'roots'), SECRET);
    chmodSync(join(root, 'roots'), 0o600);
    for (const [, profile] of TIERS) {
      const { stdout } = await place().daemon.run(sh('cat roots; echo changed > roots; echo end'), profile(of(OWNER)));
      expect(stdout).not.toContain(SECRET);
    }
    expect(readFileSync(join(root, 'roots'), 'utf8')).toBe(SECRET);
    expect(statSync(join(root, 'roots')).uid).toBe(0);
    rmSync(join(root, 'roots'));
  });
});

function pick(stat: Stats) {
  return {
    mode: stat.mode & 0o7777,
    owner: stat.uid,
    group: stat.gid,
    isDirectory: stat.isDirectory(),
    isDevice: stat.isBlockDevice() || stat.isCharacterDevice(),
  };
}
