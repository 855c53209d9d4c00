import type { SandboxCommand } from '../../command.ts';
import { enforced, type LayerReport, missing, partly, type TierReport, unreached } from '../../probe/host-report.ts';
import { probeProfile } from '../../probe/inspect.ts';
import type { ProbePlace } from '../../probe/probe-place.ts';
import { planSeatbelt, SEATBELT_EXECUTOR, type SeatbeltSurvey } from './plan.ts';

/** What the probe of a Mac works with. */
export interface SeatbeltProbeContext {
  /** Of this workspace; `program` and the profile's paths are the probe's own. */
  readonly survey: SeatbeltSurvey;
  readonly place: ProbePlace;
  /** Somebody listens there, on 127.0.0.1. */
  readonly port: number;
  /** A process outside. */
  readonly peer: number;
  /** Runs an argv to its end, with nothing but this environment. `exitCode` is undefined after a signal. */
  run(argv: readonly string[], at: ProbeStart): Promise<ProbeEnd>;
}

export interface ProbeStart {
  readonly cwd: string;
  readonly environment: readonly string[];
}

export interface ProbeEnd {
  readonly exitCode: number | undefined;
  readonly stdout: string;
}

/**
 * Each is tried twice, in the sandbox and outside: only what succeeds outside proves by failing inside that the sandbox
 * did it. None asks the operator anything, and what it makes it takes away.
 */
const ATTEMPTS = {
  read_outside: ': < "$PROBE_OUTSIDE"',
  list_home: 'ls "$PROBE_HOME"',
  write_outside: ': > "$PROBE_OUTSIDE.new" && rm "$PROBE_OUTSIDE.new"',
  connect: 'nc -z 127.0.0.1 "$PROBE_PORT"',
  signal_peer: 'kill -0 "$PROBE_PEER"',
  // Asks securityd for a key chain of its own, in a place that can be written in both cases.
  keychain: 'security create-keychain -p probe "$PWD/$PROBE_SIDE.keychain"',
  // The least used of the pasteboards, not the one that the operator copies with.
  pasteboard: 'printf %s "$PROBE_MARK" | pbcopy -pboard ruler && [ "$(pbpaste -pboard ruler)" = "$PROBE_MARK" ]',
  launchd: 'launchctl submit -l "$PROBE_MARK" -- /usr/bin/true && launchctl remove "$PROBE_MARK"',
  launch_services: '[ -n "$(lsappinfo list)" ]',
} as const;

/** What a command must be able to do: a sandbox in which nothing works holds nothing back. */
const NEEDS = {
  keep_work: ': > "$PWD/probe"',
  keep_home: ': > "$HOME/probe"',
  keep_temporary: ': > "$TMPDIR/probe"',
} as const;

/** In the order of the report. */
export const SEATBELT_LAYERS: readonly string[] = [
  'launcher',
  'sandbox_exec',
  'workspace',
  'private_files',
  'home',
  'system_files',
  'network',
  'signals',
  'keychain',
  'pasteboard',
  'launchd',
  'launch_services',
  'apple_events',
  'memory',
  'processes',
  'tree_kill',
];

const HELD: readonly { readonly layer: string; readonly attempt: keyof typeof ATTEMPTS; readonly what: string }[] = [
  { layer: 'private_files', attempt: 'read_outside', what: 'files beside the workspace' },
  { layer: 'home', attempt: 'list_home', what: "the operator's home" },
  { layer: 'system_files', attempt: 'write_outside', what: 'writing beside the workspace' },
  { layer: 'network', attempt: 'connect', what: 'the network, loopback included' },
  { layer: 'signals', attempt: 'signal_peer', what: 'processes outside' },
  { layer: 'keychain', attempt: 'keychain', what: 'the keychain' },
  { layer: 'pasteboard', attempt: 'pasteboard', what: 'the pasteboard' },
  { layer: 'launchd', attempt: 'launchd', what: 'launchd' },
  { layer: 'launch_services', attempt: 'launch_services', what: 'LaunchServices' },
];

/**
 * What sandbox-exec really holds on this Mac. The tier stays unavailable whatever it holds: there is no launcher that
 * sets limits, watches and ends a command here.
 */
export async function probeSeatbelt(context: SeatbeltProbeContext): Promise<TierReport> {
  const inside = await tryInside(context);
  if (inside.kind === 'refused') return report(withoutSandbox(inside.reason));
  const outside = await answers(context, ['/bin/sh', '-c', SCRIPT], probeEnvironment(context, 'outside'));
  return report([NO_LAUNCHER, ...measured(inside.answers, outside), ...NOT_MEASURED]);
}

type Answers = ReadonlyMap<string, string>;
type Inside =
  | { readonly kind: 'tried'; readonly answers: Answers }
  | { readonly kind: 'refused'; readonly reason: string };

/** Such as no shell says by itself. */
const ENDED = 'ended=yes';
const SCRIPT = [
  'can() { if ( eval "$2" ) >/dev/null 2>&1 </dev/null; then echo "$1=yes"; else echo "$1=no"; fi; }',
  ...Object.entries({ ...NEEDS, ...ATTEMPTS }).map(([name, shell]) => `can ${name} '${shell}'`),
  `echo ${ENDED}`,
].join('\n');

async function tryInside(context: SeatbeltProbeContext): Promise<Inside> {
  const environment = Object.fromEntries(probeEnvironment(context, 'inside'));
  const command: SandboxCommand = { argv: ['/bin/sh', '-c', SCRIPT], environment };
  const profile = { ...probeProfile('C', context.place), environment: Object.keys(environment) };
  const planned = planSeatbelt(command, profile, { ...context.survey, program: '/bin/sh' });
  if (planned.kind === 'refused') return { kind: 'refused', reason: planned.message };
  const { argv, environment: given } = planned.plan;
  const found = await answers(
    context,
    argv,
    given.map((each): [string, string] => {
      const cut = each.indexOf('=');
      return [each.slice(0, cut), each.slice(cut + 1)];
    }),
  );
  // SECURITY: T-20 — a profile that does not compile, or under which no program starts, answers nothing at all.
  if (!found.has('ended'))
    return { kind: 'refused', reason: 'No program starts under sandbox-exec with this profile.' };
  return { kind: 'tried', answers: found };
}

function probeEnvironment({ survey, place, port, peer }: SeatbeltProbeContext, side: string): [string, string][] {
  return [
    ['PATH', '/usr/bin:/bin:/usr/sbin:/sbin'],
    ['HOME', survey.home],
    ['TMPDIR', survey.temporary],
    ['PROBE_SIDE', side],
    ['PROBE_OUTSIDE', place.outside],
    ['PROBE_HOME', survey.operatorHome],
    ['PROBE_PORT', String(port)],
    ['PROBE_PEER', String(peer)],
    ['PROBE_MARK', place.mark],
  ];
}

async function answers(
  { run, place }: SeatbeltProbeContext,
  argv: readonly string[],
  environment: readonly (readonly [string, string])[],
): Promise<Answers> {
  const start = { cwd: place.workspace, environment: environment.map(([name, value]) => `${name}=${value}`) };
  const { exitCode, stdout } = await run(argv, start);
  if (exitCode !== 0) return new Map();
  const lines = stdout.split('\n').filter((line) => line.includes('='));
  return new Map(
    lines.map((line): [string, string] => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]),
  );
}

function measured(inside: Answers, outside: Answers): readonly LayerReport[] {
  const works = Object.keys(NEEDS).every((name) => inside.get(name) === 'yes');
  return [
    enforced('sandbox_exec', 'Commands start under it.'),
    works
      ? enforced('workspace', 'Workspace, home and temporary directory can be written.')
      : missing('workspace', 'A tool cannot write its workspace, home or temporary directory.'),
    ...HELD.map(({ layer, attempt, what }) => {
      // SECURITY: T-20 — only a clear `no` counts, and only where it was a `yes` outside.
      if (inside.get(attempt) !== 'no') return missing(layer, `A tool reaches ${what}.`);
      return outside.get(attempt) === 'yes'
        ? enforced(layer, `Out of reach: ${what}.`)
        : partly(
            layer,
            `Out of reach: ${what}; but so it is without a sandbox here, which proves nothing.`,
            SESSION_FIX,
          );
    }),
  ];
}

const SESSION_FIX = 'Run the probe in a session of the operator with a desktop.';

const NO_LAUNCHER: LayerReport = missing(
  'launcher',
  'There is no launcher for macOS.',
  'Run palyrad on Linux: in a virtual machine, or on another host.',
);

const NOT_MEASURED: readonly LayerReport[] = [
  partly('apple_events', 'Denied by the profile; not tried, for outside it would ask the operator.', 'None needed.'),
  missing('memory', 'macOS has no limit that holds for all processes together.'),
  missing('processes', 'Only a limit for all processes of the user.'),
  missing('tree_kill', 'Nobody ends what outlives the command.'),
];

function withoutSandbox(reason: string): readonly LayerReport[] {
  return [NO_LAUNCHER, missing('sandbox_exec', reason), ...unreached(SEATBELT_LAYERS.slice(2))];
}

function report(layers: readonly LayerReport[]): TierReport {
  const { detail: reason, fix } = NO_LAUNCHER;
  return { tier: 'C', executor: SEATBELT_EXECUTOR, state: 'unavailable', reason, fix, layers };
}
