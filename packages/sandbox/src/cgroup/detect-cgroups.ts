import { dirname } from 'node:path';
import type { CgroupFiles } from './cgroup-files.ts';
import {
  type CgroupMembership,
  type CgroupMount,
  directoryOf,
  parseCgroupMemberships,
  parseCgroupMounts,
} from './parse-cgroup-mounts.ts';

/** How this host can limit all processes of a command together. */
export type CgroupDriver = V2Driver | V1Driver | NoCgroups;

export interface V2Driver {
  readonly kind: 'v2';
  /** The cgroup that was delegated to us: jobs are its children. */
  readonly directory: string;
  readonly controllers: readonly V2Controller[];
  /** Files that not every kernel has, of those that a plan would use. */
  readonly files: readonly string[];
}

export interface V1Driver {
  readonly kind: 'v1';
  readonly hierarchies: readonly V1Hierarchy[];
}

export interface V1Hierarchy {
  /** Our own cgroup in it: jobs are its children. */
  readonly directory: string;
  readonly controllers: readonly V1Controller[];
  /** Files that not every kernel has, of those that a plan would use. */
  readonly files: readonly string[];
  /** In thousandths of a CPU: v1 refuses a child that is allowed more than its parent. */
  readonly cpuCeilingMilli: number | undefined;
}

export interface NoCgroups {
  readonly kind: 'none';
  readonly reason: string;
  readonly fix: string;
}

export type V2Controller = 'memory' | 'pids' | 'cpu';
export type V1Controller = V2Controller | 'cpuacct';

/** Processes of a delegated v2 cgroup wait here, for only cgroups without processes may limit their children. */
export const MAIN_LEAF = 'palyra-main';

/** The launcher takes no other directory. */
const CGROUP_ROOT = '/sys/fs/cgroup';
const V2_CONTROLLERS: readonly V2Controller[] = ['memory', 'pids', 'cpu'];
const V1_CONTROLLERS: readonly V1Controller[] = ['memory', 'pids', 'cpu', 'cpuacct'];
const V2_OPTIONAL_FILES = ['memory.swap.max', 'memory.oom.group', 'memory.peak', 'cgroup.kill'];
const V1_OPTIONAL_FILES = ['memory.memsw.limit_in_bytes', 'memory.swappiness'];

/** Looks, and changes nothing: what v2 needs before its first job is `prepareCgroups`. */
export function detectCgroups(host: CgroupFiles): CgroupDriver {
  const mounts = parseCgroupMounts(host.readText('/proc/self/mountinfo') ?? '').filter(({ at }) =>
    isAtOrBelow(at, CGROUP_ROOT),
  );
  const memberships = parseCgroupMemberships(host.readText('/proc/self/cgroup') ?? '');

  const v2 = detectV2(host, { mounts, memberships });
  if (v2.kind === 'v2') return v2;
  const hierarchies = detectV1(host, { mounts, memberships });
  return hierarchies.length > 0 ? { kind: 'v1', hierarchies } : v2;
}

interface OwnPlaces {
  readonly mounts: readonly CgroupMount[];
  readonly memberships: readonly CgroupMembership[];
}

function detectV2(host: CgroupFiles, { mounts, memberships }: OwnPlaces): V2Driver | NoCgroups {
  const own = memberships.find(({ controllers }) => controllers.length === 0);
  const mount = mounts.findLast(({ version, writable }) => version === 2 && writable);
  if (own === undefined || mount === undefined) return none('No writable cgroup hierarchy is mounted.');

  const inside = directoryOf(mount, own.path);
  if (inside === undefined) return none('The cgroup of this process cannot be seen from here.');
  // Already prepared, by us or by the daemon before us.
  const directory = inside.endsWith(`/${MAIN_LEAF}`) ? dirname(inside) : inside;

  const refusal = whyNotDelegated(host, directory);
  if (refusal !== undefined) return none(refusal);
  const offered = (host.readText(`${directory}/cgroup.controllers`) ?? '').trim().split(/\s+/);
  const controllers = V2_CONTROLLERS.filter((name) => offered.includes(name));
  if (!controllers.includes('memory') || !controllers.includes('pids')) {
    return none('The cgroup of this process has no memory or no pids controller.');
  }
  const files = V2_OPTIONAL_FILES.filter((file) => host.exists(`${directory}/${file}`));
  return { kind: 'v2', directory, controllers, files };
}

function whyNotDelegated(host: CgroupFiles, directory: string): string | undefined {
  // Only the true root has no type; its processes are the whole machine's and not ours to move.
  const type = host.readText(`${directory}/cgroup.type`)?.trim();
  if (type === undefined) return 'This process is in the root cgroup, which is nobody’s to divide.';
  if (type !== 'domain') return 'The cgroup of this process is threaded.';
  if (host.uid !== 0 && host.ownerUid(directory) !== host.uid) {
    return 'The cgroup of this process belongs to somebody else.';
  }
  const needed = ['', '/cgroup.procs', '/cgroup.subtree_control'];
  if (!needed.every((file) => host.isWritable(`${directory}${file}`))) {
    return 'The cgroup of this process is read-only.';
  }
  return undefined;
}

function detectV1(host: CgroupFiles, { mounts, memberships }: OwnPlaces): readonly V1Hierarchy[] {
  const controllersOf = new Map<string, { mount: CgroupMount; controllers: V1Controller[] }>();
  for (const controller of V1_CONTROLLERS) {
    const own = memberships.find(({ controllers }) => controllers.includes(controller));
    if (own === undefined) continue;
    for (const mount of mounts) {
      if (mount.version !== 1 || !mount.writable || !mount.controllers.includes(controller)) continue;
      const directory = directoryOf(mount, own.path);
      if (directory === undefined || !isUsable(host, directory)) continue;
      const found = controllersOf.get(directory) ?? { mount, controllers: [] };
      found.controllers.push(controller);
      controllersOf.set(directory, found);
      break;
    }
  }
  return [...controllersOf].map(([directory, { mount, controllers }]) => ({
    directory,
    controllers,
    files: V1_OPTIONAL_FILES.filter((file) => host.exists(`${directory}/${file}`)),
    cpuCeilingMilli: controllers.includes('cpu') ? cpuCeiling(host, { directory, top: mount.at }) : undefined,
  }));
}

function isUsable(host: CgroupFiles, directory: string): boolean {
  return host.exists(`${directory}/cgroup.procs`) && host.isWritable(directory);
}

/** The nearest ancestor that has a quota decides; -1 is none. */
function cpuCeiling(host: CgroupFiles, { directory, top }: { directory: string; top: string }): number | undefined {
  for (let at = directory; isAtOrBelow(at, top); at = dirname(at)) {
    const quota = Number(host.readText(`${at}/cpu.cfs_quota_us`) ?? -1);
    const period = Number(host.readText(`${at}/cpu.cfs_period_us`) ?? 0);
    if (quota > 0 && period > 0) return Math.floor((quota * 1000) / period);
    if (at === '/') break;
  }
  return undefined;
}

function isAtOrBelow(path: string, ancestor: string): boolean {
  return path === ancestor || path.startsWith(`${ancestor}/`);
}

function none(reason: string): NoCgroups {
  return {
    kind: 'none',
    reason,
    fix: 'Start the daemon as a service with Delegate=cpu memory pids, or as root, so that it gets a cgroup of its own.',
  };
}
