import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { measure } from './measure.ts';
import type { RawFacts } from './raw-facts.ts';

const CAPTURED = readFileSync(new URL('../../../../tests/vectors/sandbox/raw-facts.json', import.meta.url), 'utf8');

function captured(): RawFacts {
  return JSON.parse(CAPTURED) as RawFacts;
}

function withMounts(change: (mountinfo: string) => string): string | undefined {
  const raw = captured();
  const mountinfo = change(raw.inside.mountinfo);
  expect(mountinfo).not.toBe(raw.inside.mountinfo);
  return measure({ ...raw, inside: { ...raw.inside, mountinfo } }).mountTableSha256;
}

test('what was captured is measured', () => {
  const process = {
    uid: 65_534,
    gid: 65_534,
    groups: [],
    capabilities: '0000000000000000',
    noNewPrivileges: true,
    seccomp: 2,
    namespaces: ['user', 'mnt', 'pid', 'net', 'ipc', 'uts', 'cgroup'],
  };
  expect(measure(captured())).toEqual({
    processes: [
      { role: 'tool', ...process },
      { role: 'init', ...process },
    ],
    mountTableSha256: expect.stringMatching(/^[0-9a-f]{64}$/),
    network: 'isolated',
    rlimits: { cpu: 605, nofile: 4096, fsize: 2 ** 32, nproc: 512, core: 0 },
    cgroup: {
      driver: 'v1',
      memory: 'tree',
      processes: 'tree',
      cpu: 'tree',
      limits: {
        'memory.limit_in_bytes': '536870912',
        'pids.max': '64',
        'cpu.cfs_period_us': '100000',
        'cpu.cfs_quota_us': '150000',
      },
    },
    landlock: undefined,
    listener: 'none',
  });
});

test('ids, device numbers, peer groups and the order of options do not change the digest of the mount table', () => {
  const same = withMounts((text) =>
    text
      .replaceAll(/^(\d+) (\d+) \d+:(\d+)/gm, (_, id, parent) => `${Number(id) + 900} ${Number(parent) + 900} 7:7`)
      .replaceAll(/ - tmpfs/g, ' master:5 - tmpfs')
      .replaceAll('nosuid,nodev', 'nodev,nosuid'),
  );
  expect(same).toBe(measure(captured()).mountTableSha256);
});

test.each([
  ['mount point', '/home/tool', '/home/other'],
  ['root', '/newroot', '/oldroot'],
  ['file system', '- proc proc', '- tmpfs proc'],
  ['option', '/tmp rw,nosuid', '/tmp rw'],
  ['option of the file system', 'size=1024k', 'size=2048k'],
])('another %s changes the digest of the mount table', (_, from, to) => {
  expect(withMounts((text) => text.replace(from, to))).not.toBe(measure(captured()).mountTableSha256);
});

test('on the host there is no mount table of its own, no isolated network and no cgroup', () => {
  const raw = captured();
  const facts = measure({ ...raw, hostNamespaces: raw.inside.namespaces, cgroupFiles: {}, landlockRules: 4 });
  expect(facts.processes.map(({ namespaces }) => namespaces)).toEqual([[], []]);
  expect(facts).toMatchObject({
    mountTableSha256: undefined,
    network: 'host',
    cgroup: { driver: 'none', memory: 'per_process', processes: 'per_user', cpu: 'per_process', limits: {} },
    landlock: { rules: 4 },
  });
});

test('a cgroup of version 2 is measured', () => {
  const raw = captured();
  const directory = '/sys/fs/cgroup/palyra.slice/palyra-0002';
  const facts = measure({
    ...raw,
    outside: raw.outside.map((process) => ({ ...process, cgroup: '0::/palyra.slice/palyra-0002\n' })),
    cgroupFiles: {
      [`${directory}/memory.max`]: '1048576\n',
      [`${directory}/pids.max`]: 'max\n',
      [`${directory}/cpu.max`]: '150000 100000\n',
      [`${directory}/cpu.stat`]: 'usage_usec 12\nuser_usec 10\nsystem_usec 2\n',
    },
  });
  expect(facts.cgroup).toEqual({
    driver: 'v2',
    memory: 'tree',
    processes: 'per_user',
    cpu: 'tree',
    limits: { 'memory.max': '1048576', 'pids.max': 'max', 'cpu.max': '150000 100000' },
  });
});

test('a cgroup that one process is not in claims nothing', () => {
  const raw = captured();
  const [tool, init] = raw.outside;
  const strayed = { ...init, cgroup: (init?.cgroup ?? '').replace('memory:/palyra-0001', 'memory:/') };
  const facts = measure({ ...raw, outside: [tool, strayed] as RawFacts['outside'] });
  expect(facts.cgroup).toMatchObject({ memory: 'per_process', processes: 'tree' });
});

test('a memory cgroup without a limit holds no memory', () => {
  const path = '/sys/fs/cgroup/memory/palyra-0001/memory.limit_in_bytes';
  const raw = captured();
  const facts = measure({ ...raw, cgroupFiles: { ...raw.cgroupFiles, [path]: '9223372036854771712\n' } });
  expect(facts.cgroup.memory).toBe('per_process');
});

test.each(['cpu/palyra-0001/cpu.cfs_quota_us', 'cpuacct/palyra-0001/cpuacct.usage'])(
  'without %s the CPU is not held for all processes together',
  (path) => {
    const raw = captured();
    const files = Object.entries(raw.cgroupFiles).filter(([name]) => name !== `/sys/fs/cgroup/${path}`);
    expect(files).toHaveLength(Object.keys(raw.cgroupFiles).length - 1);
    expect(measure({ ...raw, cgroupFiles: Object.fromEntries(files) }).cgroup.cpu).toBe('per_process');
  },
);

test('a process whose four ids differ has no uid to attest', () => {
  const raw = captured();
  const outside = raw.outside.map((process) => ({
    ...process,
    status: process.status.replace(/^Uid:.*$/m, 'Uid:\t65534\t65534\t0\t65534'),
  }));
  expect(() => measure({ ...raw, outside })).toThrow(
    expect.objectContaining({
      code: 'sandbox.enforcement_failed',
      message: 'What the kernel says in status, Uid cannot be read: its ids differ.',
    }),
  );
});
