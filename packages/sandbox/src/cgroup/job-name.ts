import { SandboxError } from '../sandbox-error.ts';

/** The last segment of a job's cgroup: says whose it is, so that what a dead launcher left is told from a living one's. */
export type JobName = string & { readonly __brand: 'JobName' };

export interface JobNameParts {
  readonly launcherPid: number;
  /** Field 22 of /proc/PID/stat: a pid alone is used again. */
  readonly launcherStartTicks: number;
  /** Lower-case letters, digits and dashes. */
  readonly job: string;
}

const NAME = /^palyra-(?<pid>[1-9]\d{0,9})-(?<ticks>\d{1,15})-(?<job>[a-z0-9-]{1,64})$/;

export function jobNameOf({ launcherPid, launcherStartTicks, job }: JobNameParts): JobName {
  const name = `palyra-${launcherPid}-${launcherStartTicks}-${job}`;
  // SECURITY: T-17 — a name with a slash in it would put the limits on another directory than the tool.
  if (!NAME.test(name)) throw new SandboxError('sandbox.start_failed', 'A job has no valid name for its cgroup.');
  return name as JobName;
}

/** Undefined for a directory that no launcher of ours made. */
export function parseJobName(name: string): JobNameParts | undefined {
  const { pid, ticks, job } = NAME.exec(name)?.groups ?? {};
  if (pid === undefined || ticks === undefined || job === undefined) return undefined;
  return { launcherPid: Number(pid), launcherStartTicks: Number(ticks), job };
}

/** Of one of many jobs; begins with the pid namespace in which the launcher's number means it. */
export function jobIn(pidNamespace: string, job: number): string {
  return `n${pidNamespace}-${job}`;
}

/** Undefined where a name does not say so. */
export function pidNamespaceOf({ job }: Pick<JobNameParts, 'job'>): string | undefined {
  return /^n(\d+)-/.exec(job)?.[1];
}

/** From the text of /proc/PID/stat; the program's name in it may hold spaces and brackets. */
export function startTicksOf(stat: string): number | undefined {
  const ticks = fieldsAfterName(stat)[19];
  return ticks !== undefined && /^\d+$/.test(ticks) ? Number(ticks) : undefined;
}

/** The pid of the parent, from the same text. */
export function parentOf(stat: string): string | undefined {
  return fieldsAfterName(stat)[1];
}

/** Ended and not yet waited for: it has a /proc entry and does nothing any more. */
export function isDead(stat: string): boolean {
  return ['Z', 'X', 'x'].includes(fieldsAfterName(stat)[0] ?? '');
}

function fieldsAfterName(stat: string): readonly string[] {
  return stat
    .slice(stat.lastIndexOf(')') + 1)
    .trim()
    .split(' ');
}
