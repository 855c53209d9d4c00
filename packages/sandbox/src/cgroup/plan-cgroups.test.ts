import fc from 'fast-check';
import { expect, test } from 'vitest';
import { DEFAULT_LIMITS, type TreeLimit } from '../profile.ts';
import type { CgroupDriver } from './detect-cgroups.ts';
import { jobNameOf } from './job-name.ts';
import { type CgroupDemand, planCgroups } from './plan-cgroups.ts';

const MIB = 1024 * 1024;
const jobName = jobNameOf({ launcherPid: 77, launcherStartTicks: 4711, job: 'job-1' });
const demand: CgroupDemand = {
  jobName,
  limits: { memoryBytes: 64 * MIB, processes: 32, cpuMilli: 1500 },
  mustHold: ['memory', 'processes', 'cpu'],
};

const V2: CgroupDriver = {
  kind: 'v2',
  directory: '/sys/fs/cgroup/p.service',
  controllers: ['memory', 'pids', 'cpu'],
  files: ['memory.swap.max', 'memory.oom.group', 'memory.peak'],
};

const V1: CgroupDriver = {
  kind: 'v1',
  hierarchies: [
    {
      directory: '/sys/fs/cgroup/memory/own',
      controllers: ['memory'],
      files: ['memory.memsw.limit_in_bytes'],
      cpuCeilingMilli: undefined,
    },
    { directory: '/sys/fs/cgroup/pids', controllers: ['pids'], files: [], cpuCeilingMilli: undefined },
    { directory: '/sys/fs/cgroup/cpu,cpuacct', controllers: ['cpu', 'cpuacct'], files: [], cpuCeilingMilli: 1000 },
  ],
};

const NONE: CgroupDriver = { kind: 'none', reason: 'There is none.', fix: 'Get one.' };

test('v2: one directory with everything', () => {
  expect(planCgroups(V2, demand)).toEqual({
    kind: 'planned',
    cgroups: [
      {
        directory: '/sys/fs/cgroup/p.service/palyra-77-4711-job-1',
        settings: [
          { file: 'memory.max', value: '67108864' },
          { file: 'memory.swap.max', value: '0' },
          { file: 'memory.oom.group', value: '1' },
          { file: 'pids.max', value: '32' },
          { file: 'cpu.max', value: '150000 100000' },
        ],
        counters: ['memory.peak', 'memory.events', 'pids.events', 'cpu.stat'],
      },
    ],
    facts: { driver: 'v2', memory: 'tree', processes: 'tree', cpu: 'tree' },
    cpuCounter: '/sys/fs/cgroup/p.service/palyra-77-4711-job-1/cpu.stat',
  });
});

test('v1: a directory for each hierarchy, and never more CPU than the parent has', () => {
  expect(planCgroups(V1, demand)).toEqual({
    kind: 'planned',
    cgroups: [
      {
        directory: '/sys/fs/cgroup/memory/own/palyra-77-4711-job-1',
        settings: [
          { file: 'memory.limit_in_bytes', value: '67108864' },
          { file: 'memory.memsw.limit_in_bytes', value: '67108864' },
        ],
        counters: ['memory.max_usage_in_bytes', 'memory.failcnt', 'memory.oom_control'],
      },
      {
        directory: '/sys/fs/cgroup/pids/palyra-77-4711-job-1',
        settings: [{ file: 'pids.max', value: '32' }],
        counters: ['pids.events', 'pids.current'],
      },
      {
        directory: '/sys/fs/cgroup/cpu,cpuacct/palyra-77-4711-job-1',
        settings: [
          { file: 'cpu.cfs_period_us', value: '100000' },
          { file: 'cpu.cfs_quota_us', value: '100000' },
        ],
        counters: ['cpuacct.usage'],
      },
    ],
    facts: { driver: 'v1', memory: 'tree', processes: 'tree', cpu: 'tree' },
    cpuCounter: '/sys/fs/cgroup/cpu,cpuacct/palyra-77-4711-job-1/cpuacct.usage',
  });
});

test('without cgroups nothing is planned and nothing is claimed', () => {
  expect(planCgroups(NONE, { ...demand, mustHold: [] })).toEqual({
    kind: 'planned',
    cgroups: [],
    facts: { driver: 'none', memory: 'per_process', processes: 'per_user', cpu: 'per_process' },
    cpuCounter: undefined,
  });
});

test('what must hold and cannot is unsupported, with the reason and the fix', () => {
  expect(planCgroups(NONE, demand)).toEqual({
    kind: 'unsupported',
    reason: 'The profile demands limits for all processes together (memory, processes, cpu). There is none.',
    fix: 'Get one.',
  });
  const withoutCpu: CgroupDriver = { ...V2, controllers: ['memory', 'pids'] };
  expect(planCgroups(withoutCpu, demand)).toMatchObject({
    kind: 'unsupported',
    reason: expect.stringContaining('(cpu)'),
  });
  expect(planCgroups(withoutCpu, { ...demand, mustHold: ['memory', 'processes'] })).toMatchObject({ kind: 'planned' });
});

const controllers = fc.subarray(['memory', 'pids', 'cpu', 'cpuacct'] as const);
const drivers: fc.Arbitrary<CgroupDriver> = fc.oneof(
  fc.constant(NONE),
  fc.subarray(['memory.swap.max', 'memory.oom.group', 'memory.peak']).map((files) => ({ ...V2, files })),
  controllers.map((names) => ({
    kind: 'v1' as const,
    hierarchies: names.map((name) => ({
      directory: `/sys/fs/cgroup/${name}`,
      controllers: [name],
      files: [],
      cpuCeilingMilli: undefined,
    })),
  })),
);

test('property: a limit is claimed for the tree exactly when a setting holds it, and what must hold is claimed', () => {
  const musts = fc.subarray<TreeLimit>(['memory', 'processes', 'cpu']);
  const amounts = fc.record({ memoryBytes: fc.nat(), processes: fc.nat(), cpuMilli: fc.nat() });
  fc.assert(
    fc.property(drivers, musts, amounts, (driver, mustHold, limits) => {
      const plan = planCgroups(driver, { jobName, limits, mustHold });
      // Refused for what must hold: without that, the same driver shows what it does hold.
      const bare = planCgroups(driver, { jobName, limits, mustHold: [] });
      if (bare.kind !== 'planned') throw new Error('nothing had to hold');
      const files = bare.cgroups.flatMap(({ settings }) => settings.map(({ file }) => file));
      const held = new Map<TreeLimit, boolean>([
        ['memory', files.some((file) => /^memory\.(max|limit_in_bytes)$/.test(file))],
        ['processes', files.includes('pids.max')],
        ['cpu', files.some((file) => /^cpu\.(max|cfs_quota_us)$/.test(file)) && bare.cpuCounter !== undefined],
      ]);
      const claimed = Object.entries(bare.facts).flatMap(([limit, scope]) => (scope === 'tree' ? [limit] : []));
      expect(claimed).toEqual([...held].flatMap(([limit, isHeld]) => (isHeld ? [limit] : [])));
      expect(plan.kind).toBe(mustHold.every((limit) => held.get(limit)) ? 'planned' : 'unsupported');
      for (const { directory } of bare.cgroups) expect(directory).toMatch(/^\/sys\/fs\/cgroup\/.*\/?palyra-[^/]+$/);
    }),
  );
});

test('the kernel reads memory back as it was written: whole pages', () => {
  const limits = { ...DEFAULT_LIMITS, memoryBytes: 10 * 65_536 + 1 };
  expect(planCgroups(V2, { ...demand, limits })).toMatchObject({
    cgroups: [{ settings: expect.arrayContaining([{ file: 'memory.max', value: '655360' }]) }],
  });
});
