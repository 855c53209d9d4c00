import { enforced, type LayerReport, missing, partly, type TierReport, unreached } from '../../probe/host-report.ts';
import {
  type Inspected,
  type Inspection,
  inspect,
  isHeld,
  type ProbeContext,
  probeProfile,
} from '../../probe/inspect.ts';
import {
  capabilitiesLayer,
  cgroupLayers,
  launcherLayer,
  noNewPrivilegesLayer,
  rlimitsLayer,
} from '../../probe/shared-layers.ts';
import { probeTreeKill } from '../../probe/tree-kill.ts';
import { LIMITS_EXECUTOR } from './plan.ts';

/** In the order of the report. */
export const LIMITS_LAYERS: readonly string[] = [
  'launcher',
  'identity',
  'landlock_files',
  'landlock_ptrace',
  'landlock_signals',
  'no_new_privs',
  'capabilities',
  'workspace',
  'environment',
  'rlimits',
  'memory',
  'processes',
  'cpu',
  'tree_kill',
];

const ATTEMPTS = {
  keep_work: ': > "$PWD/probe"',
  read_hidden: ': < "$PROBE_OUTSIDE"',
  // Opening it needs the same right as a debugger's first look.
  look_into_peer: ': < "/proc/$PROBE_PEER/environ"',
  signal_peer: 'kill -0 "$PROBE_PEER"',
  find_variable: '[ -n "$PROBE_LEAK" ]',
  find_descriptor:
    'for each in /proc/$$/fd/*; do case "$each" in */[012]) ;; *) [ ! -e "$each" ] || exit 0;; esac; done; false',
} as const;

/** Tier B. What an agent is refused is looked at as the operator would get it. */
export async function probeLimits(context: ProbeContext): Promise<TierReport> {
  const forAgents = probeProfile('B', context.place);
  const forOperator = { ...forAgents, startedFor: 'operator' } as const;
  const asAgent = await inspect(context, forAgents, ATTEMPTS);
  const inspected = asAgent.kind === 'inspected' ? asAgent : await inspect(context, forOperator, ATTEMPTS);
  const launcher = launcherLayer(context.launcherSha256);
  if (inspected.kind === 'refused') return withoutLimits([launcher], inspected);

  const { inspection } = inspected;
  const layers = [
    launcher,
    ...insideLayers(inspection, context),
    ...cgroupLayers(inspection.facts, context.sandbox.about.cgroups),
    await probeTreeKill(context, asAgent.kind === 'inspected' ? forAgents : forOperator),
  ];
  return { ...TIER, ...stateOf(layers, asAgent), layers };
}

const TIER = { tier: 'B', executor: LIMITS_EXECUTOR } as const;

/** Where nothing of it starts. */
export function withoutLimits(
  ground: readonly LayerReport[],
  { reason, fix }: { readonly reason: string; readonly fix: string | undefined },
): TierReport {
  const layers = [...ground, ...unreached(LIMITS_LAYERS.slice(ground.length))];
  return { ...TIER, state: 'unavailable', reason, fix, layers };
}

function stateOf(layers: readonly LayerReport[], asAgent: Inspected): Pick<TierReport, 'state' | 'reason' | 'fix'> {
  const open = layers.filter(({ layer, state }) => state === 'missing' && !layer.startsWith('landlock_'));
  const [first] = open;
  if (first !== undefined) {
    const reason = `Commands start, but not every limit holds: ${open.map(({ layer }) => layer).join(', ')}.`;
    return { state: 'unavailable', reason, fix: first.fix };
  }
  if (asAgent.kind === 'refused') return { state: 'operator_only', reason: asAgent.reason, fix: asAgent.fix };
  return { state: 'available', reason: undefined, fix: undefined };
}

function insideLayers(inspection: Inspection, context: ProbeContext): readonly LayerReport[] {
  const { facts } = inspection;
  return [
    identityLayer(inspection, context),
    ...landlockLayers(inspection, context),
    noNewPrivilegesLayer(facts),
    capabilitiesLayer(facts),
    inspection.answers.get('keep_work') === 'yes'
      ? enforced('workspace', 'Can be written.')
      : missing('workspace', 'A tool cannot write its workspace.'),
    isHeld(inspection, 'find_variable', 'find_descriptor')
      ? enforced('environment', 'Only named variables; no open files of palyrad.')
      : missing('environment', "A tool finds variables or open files of palyrad's."),
    rlimitsLayer(facts),
  ];
}

function identityLayer({ facts: { processes } }: Inspection, { sandbox }: ProbeContext): LayerReport {
  const [tool] = processes;
  if (tool === undefined || tool.uid === 0) return missing('identity', 'A tool would be root.');
  if (tool.uid !== sandbox.about.launcher.uid) return enforced('identity', `uid ${tool.uid}, not palyrad's.`);
  return partly(
    'identity',
    `uid ${tool.uid}, as palyrad: Landlock alone keeps them apart.`,
    'Run palyrad as a service, as root or with a user of its own.',
  );
}

function landlockLayers(inspection: Inspection, { sandbox }: ProbeContext): readonly LayerReport[] {
  const { landlockVersion: version } = sandbox.about.launcher;
  const { landlock } = inspection.facts;
  if (landlock === undefined) {
    const detail = version === 0 ? 'This kernel has no Landlock.' : 'A tool is under no Landlock rule.';
    return ['files', 'ptrace', 'signals'].map((what) => missing(`landlock_${what}`, detail, KERNEL_FIX));
  }
  return [
    isHeld(inspection, 'read_hidden')
      ? enforced('landlock_files', `Hidden files stay hidden (ABI ${version}, ${landlock.rules} rules).`)
      : missing('landlock_files', 'A tool reads files that are hidden from it.', KERNEL_FIX),
    isHeld(inspection, 'look_into_peer')
      ? enforced('landlock_ptrace', 'No look into processes outside.')
      : missing('landlock_ptrace', 'A tool looks into the memory of other processes.', KERNEL_FIX),
    signalsLayer(inspection, version),
  ];
}

function signalsLayer(inspection: Inspection, version: number): LayerReport {
  const fix = 'Linux 6.12 or newer (Landlock ABI 6).';
  if (!isHeld(inspection, 'signal_peer')) return missing('landlock_signals', 'A tool can end processes outside.', fix);
  return version >= SIGNALS_SINCE
    ? enforced('landlock_signals', 'No signal to processes outside.')
    : partly('landlock_signals', 'Kept in by its user id alone.', fix);
}

const SIGNALS_SINCE = 6;
const KERNEL_FIX = 'Linux 5.13 or newer with Landlock, and landlock among those of the boot option lsm=.';
