import { expect, test } from 'vitest';
import { DEFAULT_LIMITS } from './profile.ts';
import { toolRlimits } from './tool-rlimits.ts';

const GIB = 1024 ** 3;

test('with a cgroup for memory there is no limit on address space', () => {
  const rlimits = toolRlimits({
    limits: { ...DEFAULT_LIMITS, cpuMs: 1500, processes: 10 },
    memory: 'tree',
    otherTasks: 3,
  });
  expect(rlimits).toEqual([
    { name: 'cpu', soft: 2, hard: 3 },
    { name: 'nofile', soft: 4096, hard: 4096 },
    { name: 'fsize', soft: 4 * GIB, hard: 4 * GIB },
    { name: 'nproc', soft: 13, hard: 13 },
    { name: 'core', soft: 0, hard: 0 },
  ]);
});

test('without one private memory is limited, and address space never so low that Node or a JVM dies', () => {
  const rlimits = toolRlimits({
    limits: { ...DEFAULT_LIMITS, memoryBytes: GIB / 2 },
    memory: 'per_process',
    otherTasks: 0,
  });
  expect(rlimits).toContainEqual({ name: 'as', soft: 16 * GIB, hard: 16 * GIB });
  expect(rlimits).toContainEqual({ name: 'data', soft: GIB / 2, hard: GIB / 2 });
});
