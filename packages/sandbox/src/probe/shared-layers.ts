import type { CgroupDriver } from '../cgroup/detect-cgroups.ts';
import type { MeasuredFacts } from '../facts/measured-facts.ts';
import { enforced, type LayerReport, missing, partly } from './host-report.ts';

const MIB = 1024 * 1024;

/** Layers that every tier has; most from what was measured before the tool's first instruction. */

export function launcherLayer(sha256: string): LayerReport {
  return enforced('launcher', `Starts; its SHA-256 begins with ${sha256.slice(0, 16)}.`);
}

export function noNewPrivilegesLayer({ processes }: MeasuredFacts): LayerReport {
  return processes.length > 0 && processes.every(({ noNewPrivileges }) => noNewPrivileges)
    ? enforced('no_new_privs', 'setuid programs give nothing.')
    : missing('no_new_privs', 'A setuid program gives its rights to a tool.');
}

export function capabilitiesLayer({ processes }: MeasuredFacts): LayerReport {
  return processes.length > 0 && processes.every(({ capabilities }) => /^0+$/.test(capabilities))
    ? enforced('capabilities', 'None.')
    : missing('capabilities', 'A tool has some.');
}

const LIMITS = ['cpu', 'nofile', 'fsize', 'nproc', 'core'] as const;

export function rlimitsLayer({ rlimits }: MeasuredFacts): LayerReport {
  const absent = LIMITS.filter((name) => rlimits[name] === undefined);
  if (absent.length > 0) return missing('rlimits', `Not set: ${absent.join(', ')}.`);
  const { cpu = 0, nofile = 0, fsize = 0, nproc = 0, core = 0 } = rlimits;
  const parts = [
    `CPU ${cpu} s a process`,
    `files ${nofile} open and ${mebibytes(fsize)} long`,
    `${nproc} processes of its user`,
    core === 0 ? 'no core dumps' : 'core dumps',
  ];
  return enforced('rlimits', `${parts.join(', ')}.`);
}

/** Without a cgroup there are still the limits of each process: that is less, and it is said. */
export function cgroupLayers({ cgroup }: MeasuredFacts, driver: CgroupDriver): readonly LayerReport[] {
  const fix =
    driver.kind === 'none' ? driver.fix : 'Start palyrad as a service with Delegate=cpu memory pids, or as root.';
  const where = `in all (cgroup ${cgroup.driver})`;
  const limit = (...files: readonly string[]) =>
    files.map((file) => cgroup.limits[file]).find((each) => each !== undefined);
  const memory = Number(limit('memory.max', 'memory.limit_in_bytes') ?? 0);
  return [
    cgroup.memory === 'tree'
      ? enforced('memory', `${mebibytes(memory)} ${where}.`)
      : partly(
          'memory',
          'Of each process only, so times their number; what they share, or keep in files in memory, is not counted.',
          fix,
        ),
    cgroup.processes === 'tree'
      ? enforced('processes', `${limit('pids.max') ?? 'Some'} ${where}.`)
      : partly('processes', 'Counted by the user, together with its other processes.', fix),
    cgroup.cpu === 'tree'
      ? enforced('cpu', `Time and share ${where}.`)
      : partly('cpu', 'Time of each process only, and no share.', fix),
  ];
}

function mebibytes(bytes: number): string {
  return `${Math.floor(bytes / MIB)} MiB`;
}
