import { posix } from 'node:path';
import type { CgroupLine } from './parse-proc.ts';

const CGROUP_ROOT = '/sys/fs/cgroup/';

/**
 * The line of /proc/PID/cgroup that speaks of the hierarchy in which `directory` lies. In version 1 the first segment
 * names the controllers (`memory`, `cpu,cpuacct`); everything else is version 2, alone or at `unified`.
 */
export function lineFor(directory: string, lines: readonly CgroupLine[]): CgroupLine | undefined {
  if (!directory.startsWith(CGROUP_ROOT)) return undefined;
  const mountedAs = (directory.slice(CGROUP_ROOT.length).split('/')[0] ?? '').split(',');
  const named = lines.find(({ controllers }) =>
    mountedAs.every((name) => controllers.includes(name) || controllers.includes(`name=${name}`)),
  );
  return named ?? lines.find(({ hierarchy }) => hierarchy === 0);
}

/** Asked for each file of each cgroup and for each process, of which all have the same lines. */
const answered = new WeakMap<readonly CgroupLine[], Map<string, boolean>>();

/** Only the last segment is compared: the rest depends on the cgroup namespace of whoever reads. */
export function isMember(directory: string, lines: readonly CgroupLine[]): boolean {
  const answers = answered.get(lines) ?? new Map<string, boolean>();
  const before = answers.get(directory);
  if (before !== undefined) return before;
  const line = lineFor(directory, lines);
  const isIn = line !== undefined && posix.basename(line.path) === posix.basename(directory);
  answered.set(lines, answers.set(directory, isIn));
  return isIn;
}
