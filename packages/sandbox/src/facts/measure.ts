import { sha256Hex } from '@palyra/primitives';
import { isMember, lineFor } from './cgroup-membership.ts';
import type { CgroupFacts, MeasuredFacts, ProcessFacts } from './measured-facts.ts';
import type { Mount } from './parse-mountinfo.ts';
import type { Capabilities, ReadLimit } from './parse-proc.ts';
import type { RawFacts } from './raw-facts.ts';
import { isIsolated, NAMESPACES, type Namespaces, type ReadFacts, type ReadProcess, readFacts } from './read-facts.ts';
import { unreadable } from './unreadable.ts';

/** What goes into the attestation, as found. Throws `sandbox.enforcement_failed` for what cannot be read. */
export function measure(raw: RawFacts): MeasuredFacts {
  return measureRead(raw, readFacts(raw));
}

/** As `measure`, for who has read the texts already: this is between the operator and the start of every tool. */
export function measureRead(raw: RawFacts, read: ReadFacts): MeasuredFacts {
  const { processes, hostNamespaces, mounts, network } = read;
  const [{ limits }] = processes;
  return {
    processes: processes.map((process) => processFacts(process, hostNamespaces)),
    mountTableSha256: mounts === undefined ? undefined : mountTableSha256(mounts),
    network: isIsolated(network) ? 'isolated' : 'host',
    rlimits: hardLimits(limits),
    cgroup: cgroupFacts(raw.cgroupFiles, processes),
    landlock: raw.landlockRules > 0 ? { rules: raw.landlockRules } : undefined,
    listener: raw.listener === undefined ? 'none' : 'passed',
  };
}

function processFacts({ role, status, namespaces }: ReadProcess, host: Namespaces): ProcessFacts {
  return {
    role,
    uid: theOne('Uid', status.uids),
    gid: theOne('Gid', status.gids),
    groups: status.groups,
    capabilities: heldCapabilities(status.capabilities),
    noNewPrivileges: status.noNewPrivileges,
    seccomp: status.seccomp,
    namespaces: NAMESPACES.filter((name) => namespaces[name] !== host[name]),
  };
}

// SECURITY: T-42 — a saved or file system id that differs is a way back to it, so there is no single id to attest.
function theOne(key: string, ids: readonly number[]): number {
  const [id] = ids;
  if (id === undefined || ids.some((other) => other !== id)) throw unreadable(`status, ${key}`, 'its ids differ');
  return id;
}

/** Whatever the process has or can give itself. The bounding set is not among it: without new privileges it gives none. */
function heldCapabilities({ inheritable, permitted, effective, ambient }: Capabilities): string {
  if (inheritable === permitted && permitted === effective && effective === ambient) return ambient;
  const held = [inheritable, permitted, effective, ambient].reduce((all, set) => all | BigInt(`0x${set}`), 0n);
  return held.toString(16).padStart(16, '0');
}

let lastTable: { readonly spelled: string; readonly sha256: string } | undefined;

/** The order stays: of two mounts at one place the later one is seen. One profile has one table, which is hashed once. */
function mountTableSha256(mounts: readonly Mount[]): string {
  const spelled = mounts.map((mount) => mount.spelled).join('\n');
  if (lastTable?.spelled !== spelled) lastTable = { spelled, sha256: sha256Hex(spelled) };
  return lastTable.sha256;
}

const ATTESTED_LIMITS = ['cpu', 'as', 'nofile', 'fsize', 'nproc', 'core', 'data'] as const;

function hardLimits(limits: ReadonlyMap<string, ReadLimit>): Readonly<Record<string, number>> {
  const found = ATTESTED_LIMITS.map((name) => [name, limits.get(name)?.hard ?? Number.POSITIVE_INFINITY] as const);
  return Object.fromEntries(found.filter(([, hard]) => Number.isFinite(hard)));
}

function cgroupFacts(files: RawFacts['cgroupFiles'], processes: readonly ReadProcess[]): CgroupFacts {
  // SECURITY: T-20 — the limits of a cgroup hold only for those in it; one that a process is not in claims nothing.
  const members = new Map<string, boolean>();
  const holding = Object.entries(files).filter(([path]) => {
    const directory = directoryOf(path);
    const areIn = members.get(directory) ?? processes.every(({ cgroups }) => isMember(directory, cgroups));
    members.set(directory, areIn);
    return areIn;
  });
  const byFile = new Map<string, string>();
  for (const [path, text] of holding) {
    const file = path.slice(path.lastIndexOf('/') + 1);
    if (byFile.has(file)) throw unreadable('the cgroups', `${file} is there twice`);
    byFile.set(file, text.trim());
  }
  const isLimit = (file: string) => /^[0-9]+$/.test(byFile.get(file) ?? '') && Number(byFile.get(file)) < UNLIMITED;
  const isCounted = byFile.has('cpuacct.usage') || /^usage_usec [0-9]+$/m.test(byFile.get('cpu.stat') ?? '');
  const isSlowed = isLimit('cpu.cfs_quota_us') || /^[0-9]+ [0-9]+$/.test(byFile.get('cpu.max') ?? '');
  return {
    driver: driverOf(holding, processes),
    memory: isLimit('memory.max') || isLimit('memory.limit_in_bytes') ? 'tree' : 'per_process',
    processes: isLimit('pids.max') ? 'tree' : 'per_user',
    // Both halves: how fast, and how much in all.
    cpu: isCounted && isSlowed ? 'tree' : 'per_process',
    limits: Object.fromEntries([...byFile].filter(([file]) => LIMIT_FILE.test(file))),
  };
}

/** Of an absolute path, as the launcher spells it. */
function directoryOf(path: string): string {
  return path.slice(0, path.lastIndexOf('/'));
}

/** Version 1 reads back 2^63 less a page where there is no limit. */
const UNLIMITED = 2 ** 62;

/** Counters are left out: they differ from one run to the next. */
const LIMIT_FILE =
  /(?:\.max|\.high|limit_in_bytes|\.cfs_quota_us|\.cfs_period_us|\.weight|\.shares|\.oom\.group|\.swappiness)$/;

function driverOf(
  files: readonly (readonly [string, string])[],
  [tool]: readonly ReadProcess[],
): CgroupFacts['driver'] {
  if (files.length === 0) return 'none';
  const directories = new Set(files.map(([path]) => directoryOf(path)));
  const hierarchies = [...directories].map((directory) => lineFor(directory, tool?.cgroups ?? [])?.hierarchy);
  return hierarchies.every((hierarchy) => hierarchy === 0) ? 'v2' : 'v1';
}
