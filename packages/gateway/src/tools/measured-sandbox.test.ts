import type { MeasuredFacts } from '@palyra/sandbox';
import { expect, test } from 'vitest';
import { enforcementOf, measuredSandbox } from './measured-sandbox.ts';

const FACTS: MeasuredFacts = {
  processes: [
    {
      role: 'init',
      uid: 1000,
      gid: 1000,
      groups: [],
      capabilities: '0000000000000000',
      noNewPrivileges: true,
      seccomp: 2,
      namespaces: ['mnt', 'net'],
    },
    {
      role: 'tool',
      uid: 1000,
      gid: 1001,
      groups: [5],
      capabilities: '0000000000000000',
      noNewPrivileges: true,
      seccomp: 2,
      namespaces: ['mnt'],
    },
  ],
  mountTableSha256: 'ab'.repeat(32),
  network: 'isolated',
  rlimits: { nofile: 4096, as: 2 ** 60 },
  cgroup: { driver: 'v2', memory: 'tree', processes: 'tree', cpu: 'tree', limits: { 'pids.max': '512' } },
  landlock: undefined,
  listener: 'passed',
};

test('facts are flat, and what was not measured is not there', () => {
  const enforcement = { fileSystem: 'isolated', network: 'isolated' } as const;
  expect(measuredSandbox({ enforcement, facts: FACTS, pooled: true })).toEqual({
    file_system: 'isolated',
    network: 'isolated',
    measured: true,
    pooled: true,
    mount_table_sha256: 'ab'.repeat(32),
    init_uid: 1000,
    init_gid: 1000,
    init_groups: [],
    init_capabilities: '0000000000000000',
    init_no_new_privileges: true,
    init_seccomp: 2,
    init_namespaces: ['mnt', 'net'],
    tool_uid: 1000,
    tool_gid: 1001,
    tool_groups: ['5'],
    tool_capabilities: '0000000000000000',
    tool_no_new_privileges: true,
    tool_seccomp: 2,
    tool_namespaces: ['mnt'],
    rlimit_nofile: 4096,
    cgroup_driver: 'v2',
    cgroup_memory: 'tree',
    cgroup_processes: 'tree',
    cgroup_cpu: 'tree',
    cgroup_limits: ['pids.max=512'],
    listener: 'passed',
  });
  expect(measuredSandbox({ enforcement, facts: undefined })).toEqual({
    file_system: 'isolated',
    network: 'isolated',
    measured: false,
  });
});

test('a network that was found to be the host’s is no strict enforcement, whatever was planned', () => {
  const planned = { fileSystem: 'isolated', network: 'isolated' } as const;
  expect(enforcementOf({ enforcement: planned, facts: FACTS })).toBe('strict');
  expect(enforcementOf({ enforcement: planned, facts: { ...FACTS, network: 'host' } })).toBe('none');
  expect(enforcementOf({ enforcement: { fileSystem: 'host', network: 'host' }, facts: undefined })).toBe('none');
});

test('an empty network with an open way out is no restriction, and says so', () => {
  const enforcement = { fileSystem: 'isolated', network: 'open' } as const;
  expect(enforcementOf({ enforcement, facts: FACTS })).toBe('none');
  expect(measuredSandbox({ enforcement, facts: FACTS })).toMatchObject({ network: 'open', listener: 'passed' });
  expect(measuredSandbox({ enforcement, facts: { ...FACTS, network: 'host' } })).toMatchObject({ network: 'host' });
});
