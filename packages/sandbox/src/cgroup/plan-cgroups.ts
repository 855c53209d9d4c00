import type { CgroupFacts } from '../facts/measured-facts.ts';
import type { CgroupPlan } from '../launch-plan.ts';
import type { Limits, TreeLimit } from '../profile.ts';
import type { CgroupDriver, V1Driver, V1Hierarchy, V2Driver } from './detect-cgroups.ts';
import type { JobName } from './job-name.ts';

export type CgroupPlanning =
  | {
      readonly kind: 'planned';
      readonly cgroups: readonly CgroupPlan[];
      readonly facts: PlannedCgroupFacts;
      /** Absolute: `cpuacct.usage` in nanoseconds, or `cpu.stat`. Also where nothing limits how fast CPU time is used. */
      readonly cpuCounter: string | undefined;
    }
  | { readonly kind: 'unsupported'; readonly reason: string; readonly fix: string };

export type PlannedCgroupFacts = Pick<CgroupFacts, 'driver' | 'memory' | 'processes' | 'cpu'>;

export interface CgroupDemand {
  readonly jobName: JobName;
  readonly limits: Pick<Limits, 'memoryBytes' | 'processes' | 'cpuMilli'>;
  readonly mustHold: readonly TreeLimit[];
}

/** The largest page of the kernels we run on: the kernel rounds, and a limit that reads back different is no match. */
const PAGE = 65_536;
const PERIOD_US = 100_000;
/** The least that the kernel takes. */
const LEAST_QUOTA_US = 1000;

export function planCgroups(driver: CgroupDriver, demand: CgroupDemand): CgroupPlanning {
  const { cgroups, facts, cpuCounter } = layOut(driver, demand);
  const held: Record<TreeLimit, boolean> = {
    memory: facts.memory === 'tree',
    processes: facts.processes === 'tree',
    cpu: facts.cpu === 'tree',
  };
  const missing = demand.mustHold.filter((limit) => !held[limit]);
  // SECURITY: T-20 — a limit that must hold and cannot is a refusal, never a weaker run.
  if (missing.length > 0) return unsupported(driver, missing);
  return { kind: 'planned', cgroups, facts, cpuCounter };
}

type Layout = Omit<Extract<CgroupPlanning, { kind: 'planned' }>, 'kind'>;
type Settings = CgroupPlan['settings'];

function layOut(driver: CgroupDriver, demand: CgroupDemand): Layout {
  switch (driver.kind) {
    case 'v2':
      return layOutV2(driver, demand);
    case 'v1':
      return layOutV1(driver, demand);
    case 'none':
      return {
        cgroups: [],
        facts: { driver: 'none', memory: 'per_process', processes: 'per_user', cpu: 'per_process' },
        cpuCounter: undefined,
      };
  }
}

function layOutV2(driver: V2Driver, { jobName, limits }: CgroupDemand): Layout {
  const directory = `${driver.directory}/${jobName}`;
  const has = (file: string) => driver.files.includes(file);
  const holdsCpu = driver.controllers.includes('cpu');
  const settings: Settings = [
    { file: 'memory.max', value: memoryValue(limits) },
    // Swap is memory too: without this a balloon goes on there.
    ...(has('memory.swap.max') ? [{ file: 'memory.swap.max', value: '0' }] : []),
    // All or nothing: a tool of which one process is missing hangs more often than it fails.
    ...(has('memory.oom.group') ? [{ file: 'memory.oom.group', value: '1' }] : []),
    { file: 'pids.max', value: processesValue(limits) },
    ...(holdsCpu ? [{ file: 'cpu.max', value: `${quotaOf(limits.cpuMilli)} ${PERIOD_US}` }] : []),
  ];
  const peak = has('memory.peak') ? ['memory.peak'] : [];
  const counters = [...peak, 'memory.events', 'pids.events', 'cpu.stat'];
  return {
    cgroups: [{ directory, settings, counters }],
    facts: { driver: 'v2', memory: 'tree', processes: 'tree', cpu: holdsCpu ? 'tree' : 'per_process' },
    // Counted in every v2 cgroup, with or without the controller.
    cpuCounter: `${directory}/cpu.stat`,
  };
}

function layOutV1({ hierarchies }: V1Driver, { jobName, limits }: CgroupDemand): Layout {
  const cgroups = hierarchies.map((hierarchy) => ({
    directory: `${hierarchy.directory}/${jobName}`,
    settings: v1Settings(hierarchy, limits),
    counters: v1Counters(hierarchy),
  }));
  const found = (controller: V1Hierarchy['controllers'][number]) =>
    hierarchies.find(({ controllers }) => controllers.includes(controller));
  const counting = found('cpuacct');
  return {
    cgroups,
    facts: {
      driver: 'v1',
      memory: found('memory') === undefined ? 'per_process' : 'tree',
      processes: found('pids') === undefined ? 'per_user' : 'tree',
      // Both halves: how fast, and how much in all.
      cpu: found('cpu') === undefined || counting === undefined ? 'per_process' : 'tree',
    },
    cpuCounter: counting === undefined ? undefined : `${counting.directory}/${jobName}/cpuacct.usage`,
  };
}

/** In the order in which the kernel takes them: memory with swap is never less than memory. */
function v1Settings(hierarchy: V1Hierarchy, limits: CgroupDemand['limits']): Settings {
  const settings: { file: string; value: string }[] = [];
  if (hierarchy.controllers.includes('memory')) {
    settings.push({ file: 'memory.limit_in_bytes', value: memoryValue(limits) });
    if (hierarchy.files.includes('memory.memsw.limit_in_bytes')) {
      settings.push({ file: 'memory.memsw.limit_in_bytes', value: memoryValue(limits) });
    } else if (hierarchy.files.includes('memory.swappiness')) {
      settings.push({ file: 'memory.swappiness', value: '0' });
    }
  }
  if (hierarchy.controllers.includes('pids')) settings.push({ file: 'pids.max', value: processesValue(limits) });
  if (hierarchy.controllers.includes('cpu')) {
    const milli = Math.min(limits.cpuMilli, hierarchy.cpuCeilingMilli ?? limits.cpuMilli);
    settings.push({ file: 'cpu.cfs_period_us', value: String(PERIOD_US) });
    settings.push({ file: 'cpu.cfs_quota_us', value: String(quotaOf(milli)) });
  }
  return settings;
}

function v1Counters({ controllers }: V1Hierarchy): readonly string[] {
  return [
    ...(controllers.includes('memory') ? ['memory.max_usage_in_bytes', 'memory.failcnt', 'memory.oom_control'] : []),
    ...(controllers.includes('pids') ? ['pids.events', 'pids.current'] : []),
    ...(controllers.includes('cpuacct') ? ['cpuacct.usage'] : []),
  ];
}

function memoryValue({ memoryBytes }: CgroupDemand['limits']): string {
  return String(Math.max(PAGE, Math.floor(memoryBytes / PAGE) * PAGE));
}

function processesValue({ processes }: CgroupDemand['limits']): string {
  return String(Math.max(1, Math.floor(processes)));
}

function quotaOf(milli: number): number {
  return Math.max(LEAST_QUOTA_US, Math.floor((milli * PERIOD_US) / 1000));
}

function unsupported(driver: CgroupDriver, missing: readonly TreeLimit[]): CgroupPlanning {
  const demanded = `The profile demands limits for all processes together (${missing.join(', ')})`;
  if (driver.kind === 'none') {
    return { kind: 'unsupported', reason: `${demanded}. ${driver.reason}`, fix: driver.fix };
  }
  return {
    kind: 'unsupported',
    reason: `${demanded}, and this host's cgroup ${driver.kind} does not give us the controllers for them.`,
    fix: 'Start the daemon as a service with Delegate=cpu memory pids, or leave them out of the profile.',
  };
}
