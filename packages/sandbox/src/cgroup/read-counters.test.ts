import { expect, test } from 'vitest';
import { countersOf } from './read-counters.ts';

test('v1 counters', () => {
  const counted = countersOf('v1', {
    '/sys/fs/cgroup/memory/palyra-1-2-a/memory.max_usage_in_bytes': '67108864\n',
    '/sys/fs/cgroup/memory/palyra-1-2-a/memory.failcnt': '999\n',
    '/sys/fs/cgroup/memory/palyra-1-2-a/memory.oom_control': 'oom_kill_disable 0\nunder_oom 0\noom_kill 3\n',
    '/sys/fs/cgroup/pids/palyra-1-2-a/pids.events': 'max 12\n',
    '/sys/fs/cgroup/cpuacct/palyra-1-2-a/cpuacct.usage': '1234567890\n',
  });
  expect(counted).toEqual({ oomKills: 3, forksRefused: 12, cpuMs: 1234, memoryPeakBytes: 67_108_864 });
});

test('v2 counters', () => {
  const counted = countersOf('v2', {
    '/c/memory.peak': '4096\n',
    '/c/memory.events': 'low 0\nhigh 0\nmax 7\noom 2\noom_kill 1\noom_group_kill 1\n',
    '/c/pids.events': 'max 5\n',
    '/c/cpu.stat': 'usage_usec 2500\nuser_usec 2000\nsystem_usec 500\n',
  });
  expect(counted).toEqual({ oomKills: 1, forksRefused: 5, cpuMs: 2, memoryPeakBytes: 4096 });
});

test('what is missing or no number is not counted as nothing', () => {
  const unknown = { oomKills: undefined, forksRefused: undefined, cpuMs: undefined, memoryPeakBytes: undefined };
  expect(countersOf('none', {})).toEqual(unknown);
  expect(countersOf('v2', { '/c/memory.peak': 'max\n', '/c/memory.events': 'oom_kill\n' })).toEqual(unknown);
  expect(countersOf('v1', { '/c/pids.events': 'maximum 3\n', '/c/cpuacct.usage': '' })).toEqual(unknown);
});
