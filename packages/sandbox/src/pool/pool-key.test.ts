import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { LaunchPlan } from '../launch-plan.ts';
import { poolKey } from './pool-key.ts';

function planOf(job: string): LaunchPlan {
  const directory = `/sys/fs/cgroup/pids/${job}`;
  const settings = [{ file: 'pids.max', value: '8' }];
  const rlimits = [{ name: 'core', soft: 0, hard: 0 } as const];
  return {
    executor: 'test',
    enforcement: { fileSystem: 'isolated', network: 'isolated' },
    wrapper: ['/usr/bin/bwrap', '--bind', '/work', '/work'],
    tool: { path: '/bin/echo', argv: ['echo'], environment: ['A=1'], cwd: '/work', terminal: undefined },
    identity: { uid: 1, gid: 2 },
    staged: [{ name: '0', source: '/work', readOnly: false, idmap: true }],
    rlimits,
    tmpfs: ['/tmp'],
    cgroups: [{ directory, settings, counters: ['pids.events'] }],
    data: [{ fd: 10, bytes: Buffer.from('a filter') }],
    filter: undefined,
    landlock: undefined,
    listener: false,
    watch: { wallMs: 1, idleMs: 2, outputBytes: 3, treeCpuMs: 4, cpuCounter: `${directory}/cpu.stat` },
    expected: {
      identity: { uid: 1, gid: 2 },
      noGroups: true,
      namespaces: ['net'],
      seccomp: true,
      noCapabilities: true,
      isolatedNetwork: true,
      rlimits,
      mounts: [{ at: '/work', writable: true }],
      cgroups: [{ directory, settings }],
      landlock: false,
      listener: false,
      bound: [{ path: '/work', identity: '1 2' }],
    },
  };
}

const PLAN = planOf('palyra-1');

describe('poolKey', () => {
  it('is the same whatever the tool is, and whatever the job is called', () => {
    const text = fc.string();
    const tool = fc.record({ path: text, argv: fc.array(text), environment: fc.array(text), cwd: text });
    fc.assert(
      fc.property(tool, fc.stringMatching(/^palyra-[0-9]{1,9}$/), (other, job) => {
        const plan = planOf(job);
        expect(poolKey({ ...plan, tool: { ...other, terminal: undefined } })).toBe(poolKey(PLAN));
      }),
    );
  });

  const others: Readonly<Record<string, LaunchPlan>> = {
    'its wrapper': { ...PLAN, wrapper: ['/usr/bin/bwrap', '--ro-bind', '/work', '/work'] },
    'a staged mount': { ...PLAN, staged: PLAN.staged.map((mount) => ({ ...mount, idmap: false })) },
    'its identity': { ...PLAN, identity: { uid: 1, gid: 3 } },
    'a limit': { ...PLAN, rlimits: [{ name: 'core', soft: 0, hard: 1 }] },
    'a tmpfs': { ...PLAN, tmpfs: [] },
    'a setting of its cgroups': {
      ...PLAN,
      cgroups: PLAN.cgroups.map((group) => ({ ...group, settings: [{ file: 'pids.max', value: '9' }] })),
    },
    'where its cgroups are': {
      ...PLAN,
      cgroups: PLAN.cgroups.map((group) => ({ ...group, directory: '/sys/fs/cgroup/x/palyra-1' })),
    },
    'the bytes of a file': { ...PLAN, data: [{ fd: 10, bytes: Buffer.from('b filter') }] },
    'the descriptor of a file': { ...PLAN, data: [{ fd: 11, bytes: Buffer.from('a filter') }] },
    'how its files are cut': {
      ...PLAN,
      data: [
        { fd: 10, bytes: Buffer.from('a fil') },
        { fd: 10, bytes: Buffer.from('ter') },
      ],
    },
    'a filter': { ...PLAN, filter: Buffer.from('x') },
    'the wall clock': { ...PLAN, watch: { ...PLAN.watch, wallMs: 2 } },
    'what counts its CPU time': { ...PLAN, watch: { ...PLAN.watch, cpuCounter: undefined } },
    'what is bound': { ...PLAN, expected: { ...PLAN.expected, bound: [{ path: '/work', identity: '1 3' }] } },
    'a mount': { ...PLAN, expected: { ...PLAN.expected, mounts: [{ at: '/work', writable: false }] } },
    'a listener': { ...PLAN, listener: true },
    'a listener that is expected': { ...PLAN, expected: { ...PLAN.expected, listener: true } },
    'a terminal': { ...PLAN, tool: { ...PLAN.tool, terminal: { rows: 1, columns: 1 } } },
    'what a plan says some day': { ...PLAN, later: true } as LaunchPlan,
  };

  it.each(Object.entries(others))('is another one when %s is another one', (_what, plan) => {
    expect(poolKey(plan)).not.toBe(poolKey(PLAN));
  });
});
