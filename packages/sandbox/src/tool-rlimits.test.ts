import { expect, test } from 'vitest';
import { DEFAULT_LIMITS } from './profile.ts';
import { toolRlimits } from './tool-rlimits.ts';

const GIB = 1024 ** 3;

test('with a cgroup for memory there is no limit on address space', () => {
  const rlimits = toolRlimits({
    limits: { ...DEFAULT_LIMITS, cpuMs: 1500, processes: 10 },
    memory: 'tree',
    otherTasks: 3,
    ceilings: {},
  });
  expect(rlimits).toEqual([
    { name: 'cpu', soft: 2, hard: 3 },
    { name: 'nofile', soft: 4096, hard: 4096 },
    { name: 'fsize', soft: 4 * GIB, hard: 4 * GIB },
    { name: 'nproc', soft: 13, hard: 13 },
    { name: 'core', soft: 0, hard: 0 },
  ]);
});

test('without one private memory is limited, and address space never so low that WebAssembly does not fit', () => {
  const rlimits = toolRlimits({
    limits: { ...DEFAULT_LIMITS, memoryBytes: GIB / 2 },
    memory: 'per_process',
    otherTasks: 0,
    ceilings: {},
  });
  expect(rlimits).toContainEqual({ name: 'as', soft: 1024 * GIB, hard: 1024 * GIB });
  expect(rlimits).toContainEqual({ name: 'data', soft: GIB / 2, hard: GIB / 2 });
});

test('nothing is asked for that this process may not have itself', () => {
  const rlimits = toolRlimits({ limits: DEFAULT_LIMITS, memory: 'tree', otherTasks: 0, ceilings: { nofile: 1024 } });
  expect(rlimits).toContainEqual({ name: 'nofile', soft: 1024, hard: 1024 });
});
