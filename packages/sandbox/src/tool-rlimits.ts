import type { Rlimit } from './launch-plan.ts';
import type { Limits } from './profile.ts';

/** Node and the JVM reserve this much address space and use a fraction of it. */
const LEAST_ADDRESS_SPACE = 16 * 1024 * 1024 * 1024;

export interface RlimitDemand {
  readonly limits: Limits;
  /** Whether something else holds the memory of all processes together. */
  readonly memory: 'tree' | 'per_process';
  /** What counts against the limit besides the tool's own processes. */
  readonly otherTasks: number;
}

/** What every process of the tool gets. SIGXCPU at the soft limit, SIGKILL a second later. */
export function toolRlimits({ limits, memory, otherTasks }: RlimitDemand): readonly Rlimit[] {
  const cpuSeconds = Math.max(1, Math.ceil(limits.cpuMs / 1000));
  const processes = limits.processes + otherTasks;
  return [
    { name: 'cpu', soft: cpuSeconds, hard: cpuSeconds + 1 },
    ...addressSpace(limits, memory),
    { name: 'nofile', soft: limits.openFiles, hard: limits.openFiles },
    { name: 'fsize', soft: limits.fileBytes, hard: limits.fileBytes },
    { name: 'nproc', soft: processes, hard: processes },
    { name: 'core', soft: 0, hard: 0 },
  ];
}

/**
 * With a cgroup the memory that is used counts. Without one there is only address space, of which managed runtimes reserve
 * far more than they use: it catches a runaway, and private memory is limited as it was asked.
 */
function addressSpace({ memoryBytes }: Limits, memory: RlimitDemand['memory']): readonly Rlimit[] {
  if (memory === 'tree') return [];
  const space = Math.max(memoryBytes, LEAST_ADDRESS_SPACE);
  return [
    { name: 'as', soft: space, hard: space },
    { name: 'data', soft: memoryBytes, hard: memoryBytes },
  ];
}
