import type { CgroupDriver } from './detect-cgroups.ts';

/** What the kernel counted for all processes of one job; undefined where this host does not count it. */
export interface CgroupCounters {
  /** Processes killed for want of memory. */
  readonly oomKills: number | undefined;
  /** Forks refused because there were too many processes. */
  readonly forksRefused: number | undefined;
  readonly cpuMs: number | undefined;
  readonly memoryPeakBytes: number | undefined;
}

/** `files` are those of one job only, by absolute path: settings and counters as the launcher read them. */
export function countersOf(driver: CgroupDriver['kind'], files: Readonly<Record<string, string>>): CgroupCounters {
  const texts = new Map(Object.entries(files).map(([path, text]) => [path.slice(path.lastIndexOf('/') + 1), text]));
  const whole = (file: string) => wholeNumber(texts.get(file));
  const keyed = (file: string, key: string) => keyedNumber(texts.get(file), key);
  switch (driver) {
    case 'v2':
      return {
        oomKills: keyed('memory.events', 'oom_kill'),
        forksRefused: keyed('pids.events', 'max'),
        cpuMs: scaled(keyed('cpu.stat', 'usage_usec'), 1000),
        memoryPeakBytes: whole('memory.peak'),
      };
    case 'v1':
      return {
        // Not failcnt: that also counts every time that the kernel made room and nobody had to die.
        oomKills: keyed('memory.oom_control', 'oom_kill'),
        forksRefused: keyed('pids.events', 'max'),
        cpuMs: scaled(whole('cpuacct.usage'), 1_000_000),
        memoryPeakBytes: whole('memory.max_usage_in_bytes'),
      };
    case 'none':
      return { oomKills: undefined, forksRefused: undefined, cpuMs: undefined, memoryPeakBytes: undefined };
  }
}

function wholeNumber(text: string | undefined): number | undefined {
  const trimmed = text?.trim() ?? '';
  return /^\d+$/.test(trimmed) ? Number(trimmed) : undefined;
}

function keyedNumber(text: string | undefined, key: string): number | undefined {
  const line = text?.split('\n').find((each) => each.startsWith(`${key} `));
  return wholeNumber(line?.slice(key.length + 1));
}

function scaled(value: number | undefined, perMs: number): number | undefined {
  return value === undefined ? undefined : Math.floor(value / perMs);
}
