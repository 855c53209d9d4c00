import { describe, expect, test } from 'vitest';
import type { CgroupFiles } from './cgroup-files.ts';
import { detectCgroups } from './detect-cgroups.ts';

interface FakeHost {
  readonly uid?: number;
  readonly cgroup: string;
  readonly mountinfo: readonly string[];
  /** Text by path; directories are the parents of files. */
  readonly files: Readonly<Record<string, string>>;
  readonly readOnly?: readonly string[];
  readonly owners?: Readonly<Record<string, number>>;
}

function fakeHost({ uid = 0, cgroup, mountinfo, files, readOnly = [], owners = {} }: FakeHost): CgroupFiles {
  const all: Record<string, string> = {
    ...files,
    '/proc/self/cgroup': cgroup,
    '/proc/self/mountinfo': mountinfo.join('\n'),
  };
  const exists = (path: string) => Object.keys(all).some((each) => each === path || each.startsWith(`${path}/`));
  return {
    uid,
    readText: (path) => all[path],
    exists,
    isWritable: (path) => exists(path) && !readOnly.includes(path),
    ownerUid: (path) => (exists(path) ? (owners[path] ?? 0) : undefined),
  };
}

const V2_MOUNT = '31 23 0:28 / /sys/fs/cgroup rw,relatime shared:9 - cgroup2 cgroup2 rw,nsdelegate';
const SERVICE = '/sys/fs/cgroup/user.slice/palyra.service';

function v2Files(directory: string, changed: Readonly<Record<string, string>> = {}): Record<string, string> {
  return {
    [`${directory}/cgroup.type`]: 'domain\n',
    [`${directory}/cgroup.procs`]: '1\n',
    [`${directory}/cgroup.subtree_control`]: '\n',
    [`${directory}/cgroup.controllers`]: 'cpuset cpu io memory pids\n',
    [`${directory}/memory.swap.max`]: 'max\n',
    [`${directory}/memory.oom.group`]: '0\n',
    ...changed,
  };
}

const DELEGATED: FakeHost = {
  uid: 1000,
  cgroup: '0::/user.slice/palyra.service\n',
  mountinfo: [V2_MOUNT],
  files: v2Files(SERVICE),
  owners: { [SERVICE]: 1000 },
};

const FOUND_V2 = {
  kind: 'v2',
  directory: SERVICE,
  controllers: ['memory', 'pids', 'cpu'],
  files: ['memory.swap.max', 'memory.oom.group'],
};

describe('v2', () => {
  test('a delegated cgroup of our own is used', () => {
    expect(detectCgroups(fakeHost(DELEGATED))).toEqual(FOUND_V2);
  });

  test('from within the leaf its parent is used', () => {
    const cgroup = '0::/user.slice/palyra.service/palyra-main\n';
    expect(detectCgroups(fakeHost({ ...DELEGATED, cgroup }))).toEqual(FOUND_V2);
  });

  test('root uses any cgroup that is not the root', () => {
    expect(detectCgroups(fakeHost({ ...DELEGATED, uid: 0 }))).toEqual(FOUND_V2);
  });

  test('in a container the mount shows our cgroup as its top', () => {
    const host = fakeHost({
      cgroup: '0::/docker/4f\n',
      mountinfo: ['31 23 0:28 /docker/4f /sys/fs/cgroup rw - cgroup2 cgroup rw'],
      files: v2Files('/sys/fs/cgroup'),
    });
    expect(detectCgroups(host)).toEqual({ ...FOUND_V2, directory: '/sys/fs/cgroup' });
  });

  test('without a cpu controller the others are used', () => {
    const files = v2Files(SERVICE, { [`${SERVICE}/cgroup.controllers`]: 'memory pids\n' });
    expect(detectCgroups(fakeHost({ ...DELEGATED, files }))).toEqual({ ...FOUND_V2, controllers: ['memory', 'pids'] });
  });

  test.each<[string, Partial<FakeHost>]>([
    ['it belongs to somebody else', { owners: { [SERVICE]: 0 } }],
    ['it is read-only', { readOnly: [SERVICE] }],
    ['its processes cannot be moved', { readOnly: [`${SERVICE}/cgroup.procs`] }],
    ['its controllers cannot be enabled', { readOnly: [`${SERVICE}/cgroup.subtree_control`] }],
    ['it is mounted read-only', { mountinfo: [V2_MOUNT.replace('rw,relatime', 'ro,relatime')] }],
    ['its file system is read-only', { mountinfo: [V2_MOUNT.replace('rw,nsdelegate', 'ro')] }],
    ['something lies over its mount', { mountinfo: [V2_MOUNT, '40 23 0:50 / /sys/fs/cgroup rw - tmpfs none rw'] }],
    ['it is mounted elsewhere', { mountinfo: [V2_MOUNT.replace('/sys/fs/cgroup', '/mnt/cgroup')] }],
    ['it is threaded', { files: v2Files(SERVICE, { [`${SERVICE}/cgroup.type`]: 'threaded\n' }) }],
    ['it has no pids controller', { files: v2Files(SERVICE, { [`${SERVICE}/cgroup.controllers`]: 'memory\n' }) }],
    ['it is outside the namespace', { uid: 0, cgroup: '0::/../other\n', files: v2Files('/sys/fs/cgroup/../other') }],
    ['the mount shows another part', { mountinfo: [V2_MOUNT.replace(' / ', ' /user.slice/palyra ')] }],
    ['/proc says nothing', { cgroup: '', mountinfo: [] }],
  ])('is not used when %s', (_, changed) => {
    const found = detectCgroups(fakeHost({ ...DELEGATED, ...changed }));
    expect(found).toEqual({ kind: 'none', reason: expect.any(String), fix: expect.any(String) });
  });

  test('the root cgroup is not divided, not even by root', () => {
    const { '/sys/fs/cgroup/cgroup.type': _, ...files } = v2Files('/sys/fs/cgroup');
    const host = fakeHost({ cgroup: '0::/\n', mountinfo: [V2_MOUNT], files });
    expect(detectCgroups(host)).toMatchObject({ kind: 'none', reason: expect.stringContaining('root cgroup') });
  });
});

const V1: FakeHost = {
  cgroup: '9:name=systemd:/\n8:pids:/\n4:memory:/process_api/47\n2:cpuacct:/\n1:cpu:/\n0::/\n',
  mountinfo: [
    '31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755',
    '32 31 0:29 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu',
    '33 31 0:30 / /sys/fs/cgroup/cpuacct rw,relatime - cgroup cgroup rw,cpuacct',
    '35 31 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory',
    '39 31 0:36 / /sys/fs/cgroup/pids rw,relatime - cgroup cgroup rw,pids',
    '40 31 0:37 / /sys/fs/cgroup/systemd rw,relatime - cgroup cgroup rw,name=systemd',
    '41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw',
  ],
  files: {
    '/sys/fs/cgroup/cpu/cgroup.procs': '1\n',
    '/sys/fs/cgroup/cpu/cpu.cfs_quota_us': '-1\n',
    '/sys/fs/cgroup/cpu/cpu.cfs_period_us': '100000\n',
    '/sys/fs/cgroup/cpuacct/cgroup.procs': '1\n',
    '/sys/fs/cgroup/memory/process_api/47/cgroup.procs': '1\n',
    '/sys/fs/cgroup/memory/process_api/47/memory.memsw.limit_in_bytes': '9\n',
    '/sys/fs/cgroup/pids/cgroup.procs': '1\n',
    '/sys/fs/cgroup/unified/cgroup.controllers': 'hugetlb\n',
    '/sys/fs/cgroup/unified/cgroup.procs': '1\n',
  },
};

const V1_MEMORY = {
  directory: '/sys/fs/cgroup/memory/process_api/47',
  controllers: ['memory'],
  files: ['memory.memsw.limit_in_bytes'],
  cpuCeilingMilli: undefined,
};

function bare(directory: string, controllers: readonly string[]) {
  return { directory, controllers, files: [], cpuCeilingMilli: undefined };
}

describe('v1', () => {
  test('each controller has its own directory', () => {
    expect(detectCgroups(fakeHost(V1))).toEqual({
      kind: 'v1',
      hierarchies: [
        V1_MEMORY,
        bare('/sys/fs/cgroup/pids', ['pids']),
        bare('/sys/fs/cgroup/cpu', ['cpu']),
        bare('/sys/fs/cgroup/cpuacct', ['cpuacct']),
      ],
    });
  });

  test('controllers that cannot be written are left out', () => {
    const readOnly = ['/sys/fs/cgroup/pids', '/sys/fs/cgroup/cpu', '/sys/fs/cgroup/cpuacct'];
    expect(detectCgroups(fakeHost({ ...V1, readOnly }))).toEqual({ kind: 'v1', hierarchies: [V1_MEMORY] });
  });

  test('hierarchies that are mounted read-only are left out', () => {
    const mountinfo = V1.mountinfo.map((line) => (line.includes('/memory') ? line : line.replace(' rw,', ' ro,')));
    expect(detectCgroups(fakeHost({ ...V1, mountinfo }))).toEqual({ kind: 'v1', hierarchies: [V1_MEMORY] });
  });

  test('an ordinary user has none', () => {
    const readOnly = ['/cpu', '/cpuacct', '/pids', '/memory/process_api/47'].map((each) => `/sys/fs/cgroup${each}`);
    expect(detectCgroups(fakeHost({ ...V1, uid: 1001, readOnly }))).toMatchObject({ kind: 'none' });
  });

  test('controllers mounted together share a directory, below the container’s root and a name with a space', () => {
    const host = fakeHost({
      cgroup: '5:pids:/docker/4f\n4:cpu,cpuacct:/docker/4f/in side\n',
      mountinfo: [
        '32 31 0:29 /docker/4f /sys/fs/cgroup/cpu\\040all rw master:3 shared:4 - cgroup cgroup rw,cpu,cpuacct',
        '39 31 0:36 /docker/other /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids',
      ],
      files: {
        '/sys/fs/cgroup/cpu all/in side/cgroup.procs': '',
        '/sys/fs/cgroup/cpu all/in side/cpu.cfs_quota_us': '-1\n',
        '/sys/fs/cgroup/cpu all/cpu.cfs_quota_us': '150000\n',
        '/sys/fs/cgroup/cpu all/cpu.cfs_period_us': '100000\n',
        '/sys/fs/cgroup/pids/cgroup.procs': '',
      },
    });
    const cpu = { ...bare('/sys/fs/cgroup/cpu all/in side', ['cpu', 'cpuacct']), cpuCeilingMilli: 1500 };
    expect(detectCgroups(host)).toEqual({ kind: 'v1', hierarchies: [cpu] });
  });
});
