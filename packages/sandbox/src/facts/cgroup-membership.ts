import type { CgroupLine } from './parse-proc.ts';

const CGROUP_ROOT = '/sys/fs/cgroup/';

/**
 * The line of /proc/PID/cgroup that speaks of the hierarchy in which `directory` lies. In version 1 the first segment
 * names the controllers (`memory`, `cpu,cpuacct`); everything else is version 2, alone or at `unified`.
 */
export function lineFor(directory: string, lines: readonly CgroupLine[]): CgroupLine | undefined {
  const known = answered.get(lines) ?? new Map<string, CgroupLine | undefined>();
  if (!known.has(directory)) answered.set(lines, known.set(directory, findLine(directory, lines)));
  return known.get(directory);
}

/** Asked for each file of each cgroup and for each process, of which all have the same lines. */
const answered = new WeakMap<readonly CgroupLine[], Map<string, CgroupLine | undefined>>();

function findLine(directory: string, lines: readonly CgroupLine[]): CgroupLine | undefined {
  if (!directory.startsWith(CGROUP_ROOT)) return undefined;
  const mountedAs = (directory.slice(CGROUP_ROOT.length).split('/')[0] ?? '').split(',');
  const named = lines.find(({ controllers }) =>
    mountedAs.every((name) => controllers.includes(name) || controllers.includes(`name=${name}`)),
  );
  return named ?? lines.find(({ hierarchy }) => hierarchy === 0);
}

/** Only the last segment is compared: the rest depends on the cgroup namespace of whoever reads. */
export function isMember(directory: string, lines: readonly CgroupLine[]): boolean {
  const line = lineFor(directory, lines);
  return line !== undefined && lastSegment(line.path) === lastSegment(directory);
}

/** As the kernel and the launcher spell paths, which have no slash at their end. */
function lastSegment(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1);
}
