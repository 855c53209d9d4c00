import type { Rlimit, RlimitName } from './launch-plan.ts';
import type { Limits } from './profile.ts';

/** Runtimes reserve address space and use a fraction of it: V8 10 GiB for each WebAssembly memory, and fetch has one. */
const LEAST_ADDRESS_SPACE = 1024 ** 4;

export interface RlimitDemand {
  readonly limits: Limits;
  /** Whether something else holds the memory of all processes together. */
  readonly memory: 'tree' | 'per_process';
  /** What counts against the limit besides the tool's own processes. */
  readonly otherTasks: number;
  /** What this process itself may not exceed, and so cannot give. */
  readonly ceilings: Readonly<Partial<Record<RlimitName, number>>>;
}

/** What every process of the tool gets. SIGXCPU at the soft limit, SIGKILL a second later. */
export function toolRlimits({ limits, memory, otherTasks, ceilings }: RlimitDemand): readonly Rlimit[] {
  const cpuSeconds = Math.max(1, Math.ceil(limits.cpuMs / 1000));
  const processes = limits.processes + otherTasks;
  const wanted: readonly Rlimit[] = [
    { name: 'cpu', soft: cpuSeconds, hard: cpuSeconds + 1 },
    ...addressSpace(limits, memory),
    { name: 'nofile', soft: limits.openFiles, hard: limits.openFiles },
    { name: 'fsize', soft: limits.fileBytes, hard: limits.fileBytes },
    { name: 'nproc', soft: processes, hard: processes },
    { name: 'core', soft: 0, hard: 0 },
  ];
  return wanted.map(({ name, soft, hard }) => {
    const ceiling = ceilings[name] ?? Infinity;
    return { name, soft: Math.min(soft, ceiling), hard: Math.min(hard, ceiling) };
  });
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
