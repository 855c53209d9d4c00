import type { ProcessFacts } from '../../facts/measured-facts.ts';
import { enforced, type LayerReport, missing, partly, type TierReport, unreached } from '../../probe/host-report.ts';
import { type Inspection, inspect, isHeld, type ProbeContext, probeProfile } from '../../probe/inspect.ts';
import {
  capabilitiesLayer,
  cgroupLayers,
  launcherLayer,
  noNewPrivilegesLayer,
  rlimitsLayer,
} from '../../probe/shared-layers.ts';
import { probeTreeKill } from '../../probe/tree-kill.ts';
import { BOX_USER } from './box-files.ts';
import { BUBBLEWRAP_EXECUTOR } from './plan.ts';

/** What each namespace of its own takes away. */
const NAMESPACES = {
  user: 'Its own: rights in it are none outside.',
  mnt: 'Its own: the files that it was given.',
  pid: 'Its own: no process of the host.',
  net: 'Its own: no interface of the host.',
  ipc: 'Its own: no shared memory or queues of the host.',
  uts: 'Its own host name.',
  cgroup: 'Its own: it does not see where it is counted.',
} as const;

/** In the order of the report. */
export const BUBBLEWRAP_LAYERS: readonly string[] = [
  'launcher',
  'bubblewrap',
  'identity',
  ...Object.keys(NAMESPACES).map((name) => `namespace_${name}`),
  'nested_namespaces',
  'seccomp',
  'no_new_privs',
  'capabilities',
  'network',
  'system_files',
  'private_files',
  'tmpfs_size',
  'rlimits',
  'memory',
  'processes',
  'cpu',
  'tree_kill',
  'exit_status',
];

const ATTEMPTS = {
  write_system: ': > /usr/palyra-probe',
  write_root: ': > /palyra-probe',
  write_settings: ': > /proc/sys/kernel/hostname',
  read_outside: ': < "$PROBE_OUTSIDE"',
  keep_home: `[ "$HOME" = ${BOX_USER.home} ] && : > "$HOME/probe"`,
  keep_temporary: ': > /tmp/probe',
  keep_work: ': > "$PWD/probe"',
  find_unshare: 'command -v unshare',
  nest_namespaces: 'unshare --user true',
} as const;

/** Tier C: one sandbox to look around in, one to run away from. */
export async function probeBubblewrap(context: ProbeContext): Promise<TierReport> {
  const profile = probeProfile('C', context.place);
  const ground = [launcherLayer(context.launcherSha256), bubblewrapLayer(context.bubblewrap)];
  const inspected = await inspect(context, profile, ATTEMPTS);
  if (inspected.kind === 'refused') return withoutBubblewrap(ground, inspected);

  const { inspection } = inspected;
  const layers = [
    ...ground,
    ...insideLayers(inspection),
    ...cgroupLayers(inspection.facts, context.sandbox.about.cgroups),
    await probeTreeKill(context, profile),
    exitStatusLayer(inspection),
  ];
  const open = layers.filter(({ state }) => state === 'missing');
  const [first] = open;
  // SECURITY: T-20 — one layer that does not hold is no wall.
  if (first !== undefined) {
    const reason = `A sandbox starts, but not every layer of it holds: ${open.map(({ layer }) => layer).join(', ')}.`;
    return { ...TIER, state: 'unavailable', reason, fix: first.fix, layers };
  }
  return { ...TIER, state: 'available', reason: undefined, fix: undefined, layers };
}

const TIER = { tier: 'C', executor: BUBBLEWRAP_EXECUTOR } as const;

/** Where nothing of it starts. */
export function withoutBubblewrap(
  ground: readonly LayerReport[],
  { reason, fix }: { readonly reason: string; readonly fix: string | undefined },
): TierReport {
  const layers = [...ground, ...unreached(BUBBLEWRAP_LAYERS.slice(ground.length))];
  return { ...TIER, state: 'unavailable', reason, fix, layers };
}

export function bubblewrapLayer(bubblewrap: ProbeContext['bubblewrap']): LayerReport {
  if (bubblewrap !== undefined)
    return enforced('bubblewrap', `${bubblewrap.version ?? 'Of unknown version'}, ${bubblewrap.path}`);
  const fix = 'Install the package bubblewrap, 0.8 or newer; only root may be able to write the program.';
  return missing('bubblewrap', 'There is none at the places of system programs.', fix);
}

function insideLayers(inspection: Inspection): readonly LayerReport[] {
  const { facts } = inspection;
  return [
    identityLayer(facts.processes),
    ...Object.entries(NAMESPACES).map(([name, detail]) => namespaceLayer(name, detail, facts.processes)),
    nestingLayer(inspection),
    seccompLayer(facts.processes),
    noNewPrivilegesLayer(facts),
    capabilitiesLayer(facts),
    facts.network === 'isolated'
      ? enforced('network', 'None but a loopback of its own.')
      : missing('network', "A tool sees the host's network."),
    systemFilesLayer(inspection),
    privateFilesLayer(inspection),
    tmpfsLayer(inspection),
    rlimitsLayer(facts),
  ];
}

function identityLayer([tool]: readonly ProcessFacts[]): LayerReport {
  if (tool === undefined || tool.uid === 0) return missing('identity', 'A tool would be root.');
  const groups = tool.groups.filter((group) => group !== tool.gid);
  if (groups.length === 0) return enforced('identity', `uid ${tool.uid} on the host, without other groups.`);
  return partly(
    'identity',
    `uid ${tool.uid} on the host, and its groups ${groups.join(', ')}.`,
    'Only root can drop groups: run palyrad as a service with a user of its own.',
  );
}

function namespaceLayer(name: string, detail: string, processes: readonly ProcessFacts[]): LayerReport {
  const isOwn = processes.length > 0 && processes.every(({ namespaces }) => namespaces.includes(name));
  return isOwn ? enforced(`namespace_${name}`, detail) : missing(`namespace_${name}`, "It is the host's.");
}

function nestingLayer(inspection: Inspection): LayerReport {
  if (!isHeld(inspection, 'nest_namespaces')) return missing('nested_namespaces', 'A tool can make a user namespace.');
  if (inspection.answers.get('find_unshare') === 'yes') return enforced('nested_namespaces', 'Refused when tried.');
  return partly('nested_namespaces', 'Forbidden, but not tried: there is no unshare here.', 'Install util-linux.');
}

function seccompLayer(processes: readonly ProcessFacts[]): LayerReport {
  const roles = processes.filter(({ seccomp }) => seccomp === 2).map(({ role }) => role);
  return roles.includes('tool') && roles.includes('init')
    ? enforced('seccomp', "A filter on the tool and on the sandbox's init.")
    : missing('seccomp', 'Not every process is under the filter.');
}

function systemFilesLayer(inspection: Inspection): LayerReport {
  const digest = inspection.facts.mountTableSha256;
  const isReadOnly = isHeld(inspection, 'write_system', 'write_root', 'write_settings');
  return isReadOnly && digest !== undefined
    ? enforced('system_files', `Read-only; mount table ${digest.slice(0, 16)}.`)
    : missing('system_files', "A tool can write the host's system files or settings.");
}

function privateFilesLayer(inspection: Inspection): LayerReport {
  if (!isHeld(inspection, 'read_outside')) return missing('private_files', 'A tool reads files that it was not given.');
  const works = ['keep_home', 'keep_temporary', 'keep_work'].every((name) => inspection.answers.get(name) === 'yes');
  return works
    ? enforced('private_files', 'Its own home and /tmp, and the workspace.')
    : missing('private_files', 'A tool cannot write its own home, /tmp or workspace.');
}

/** `103 90 0:46 / /tmp rw,nosuid - tmpfs tmpfs rw,size=1048576k` */
function tmpfsLayer({ mounts }: Inspection): LayerReport {
  const writable = mounts
    .map((line) => line.split(' '))
    .filter((fields) => fields[fields.indexOf('-') + 1] === 'tmpfs' && fields[5]?.split(',').includes('rw') === true);
  const sizes = writable.map((fields) => /(?:^|,)size=([0-9]+)k/.exec(fields.at(-1) ?? '')?.[1]);
  if (sizes.length === 0 || sizes.includes(undefined)) {
    return missing('tmpfs_size', 'A tool can fill the memory of this host with files.');
  }
  const largest = Math.max(...sizes.map(Number));
  return enforced(
    'tmpfs_size',
    `${Math.floor(largest / 1024)} MiB: ${writable.map((fields) => fields[4]).join(', ')}.`,
  );
}

function exitStatusLayer({ isExact }: Inspection): LayerReport {
  return isExact
    ? enforced('exit_status', 'The kernel tells an exit code from a signal.')
    : partly('exit_status', 'Exit codes above 128 are taken for signals, as shells do.', 'Linux 6.15 or newer.');
}
