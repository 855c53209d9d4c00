import type { SandboxCommand } from '../../command.ts';
import type { LaunchPlan, Rlimit } from '../../launch-plan.ts';
import type { SandboxProfile } from '../../profile.ts';
import type { Refusal } from '../../run-result.ts';
import type { HostSurvey } from '../../survey/host-survey.ts';
import { toolEnvironment } from '../../tool-environment.ts';
import { toolRlimits } from '../../tool-rlimits.ts';
import { directoriesDownTo, HIDDEN_EVERYWHERE, HIDDEN_IN_HOME, isInside, kernelPath } from './mac-paths.ts';
import { type Reach, writePolicy } from './policy.ts';

export const SEATBELT_EXECUTOR = 'sandbox_tier_c_macos_sandbox_exec';

/** Never looked up on a PATH. */
const SANDBOX_EXEC = '/usr/bin/sandbox-exec';

/** What a plan needs to know of the Mac: looked up beforehand, so that planning is pure. */
export interface SeatbeltSurvey extends Pick<HostSurvey, 'workspace' | 'toolchains' | 'program' | 'tasksOnHost'> {
  readonly operatorHome: string;
  /** Made for this command alone, and removed after it. */
  readonly home: string;
  readonly temporary: string;
  /** As `xcode-select -p` says it; undefined without. */
  readonly developerDirectory: string | undefined;
  /** Where the profile's paths really are, for those that are elsewhere or written in another case. */
  readonly resolved: ReadonlyMap<string, string>;
  /** Besides the profile's: our own state, credentials in toolchains. */
  readonly masked: readonly string[];
  /** T-15's, in this workspace. */
  readonly protectedPaths: readonly string[];
  /** The device of the terminal that was opened for the command. */
  readonly terminalDevice: string | undefined;
}

export interface SeatbeltPlan {
  readonly executor: string;
  /** From `sandbox-exec` to the last argument. */
  readonly argv: readonly string[];
  /** The profile in Apple's language; also in `argv`. */
  readonly policy: string;
  readonly environment: readonly string[];
  readonly cwd: string;
  readonly terminal: LaunchPlan['tool']['terminal'];
  readonly rlimits: readonly Rlimit[];
  readonly watch: Pick<LaunchPlan['watch'], 'wallMs' | 'idleMs' | 'outputBytes'>;
  /** What the profile asks for and no Mac can hold: said in the result, not passed over. */
  readonly notHeld: readonly NotHeld[];
}

export type NotHeld = 'memory' | 'processes_of_the_tree' | 'cpu_of_the_tree' | 'cpu_share' | 'room_for_files';

export type SeatbeltPlanning = { readonly kind: 'planned'; readonly plan: SeatbeltPlan } | Refusal;

/** Tier C on macOS, from command, profile and survey alone: same in, same out. */
export function planSeatbelt(
  command: SandboxCommand,
  profile: SandboxProfile,
  survey: SeatbeltSurvey,
): SeatbeltPlanning {
  const reach = reachOf(command, profile, survey);
  const refusal = refuseProfile(command, profile, survey) ?? refuseReach(reach, survey);
  if (refusal !== undefined) return refusal;

  const { text, parameters } = writePolicy(reach);
  const { limits } = profile;
  const program = kernelPath(survey.program);
  const definitions = parameters.flatMap(({ name, value }) => ['-D', `${name}=${value}`]);
  return {
    kind: 'planned',
    plan: {
      executor: SEATBELT_EXECUTOR,
      // The text itself, not a file that could be another one by the time it is read.
      argv: [SANDBOX_EXEC, '-p', text, ...definitions, '--', program, ...command.argv.slice(1)],
      policy: text,
      environment: toolEnvironment(command, profile, { ours: macEnvironment(survey), defaults: {} }),
      cwd: kernelPath(command.cwd ?? survey.workspace.root),
      terminal: command.terminal,
      rlimits: toolRlimits({ limits, memory: 'tree', otherTasks: survey.tasksOnHost, ceilings: {} }),
      watch: { wallMs: limits.wallMs, idleMs: limits.idleMs, outputBytes: limits.outputBytes },
      notHeld: ['memory', 'processes_of_the_tree', 'cpu_of_the_tree', 'cpu_share', 'room_for_files'],
    },
  };
}

function reachOf(command: SandboxCommand, profile: SandboxProfile, survey: SeatbeltSurvey): Reach {
  const resolve = (path: string) => kernelPath(survey.resolved.get(path) ?? path);
  const operatorHome = kernelPath(survey.operatorHome);
  const { root, gitDirectories } = survey.workspace;
  const workspaces = [root, ...gitDirectories].map(kernelPath);
  const isWritable = profile.workspace.access === 'read-write';
  const developer = survey.developerDirectory === undefined ? [] : [survey.developerDirectory];
  const writable = distinct([
    kernelPath(survey.home),
    kernelPath(survey.temporary),
    ...profile.writablePaths.map(resolve),
    ...(isWritable ? workspaces : []),
  ]);
  const readable = distinct([
    ...[...developer, ...survey.toolchains.readOnly].map(kernelPath),
    ...profile.readOnlyPaths.map(resolve),
    ...(isWritable ? [] : workspaces),
  ]);
  // By both names: what is not there yet has only the one that was written.
  const hidden = distinct([
    ...profile.maskedPaths.flatMap((path) => [resolve(path), kernelPath(path)]),
    ...survey.masked.map(kernelPath),
  ]);
  // SECURITY: T-14 — read-only inside writable is read-only, as it is for a mount.
  const inside = readable.filter((path) => writable.some((each) => path !== each && isInside(path, each)));
  const kept = distinct([...survey.protectedPaths.map(kernelPath), ...inside]);
  const closed = [...secretPlaces(operatorHome), ...hidden, ...kept];
  const pinned = distinct(
    writable.flatMap((each) => [each, ...closed.flatMap((path) => directoriesDownTo(path, each))]),
  );
  return {
    operatorHome,
    readable,
    writable,
    hidden,
    kept,
    pinned,
    terminal: command.terminal === undefined ? undefined : survey.terminalDevice,
    unixSockets: profile.unixSockets,
  };
}

function secretPlaces(operatorHome: string): readonly string[] {
  return [...HIDDEN_EVERYWHERE, ...HIDDEN_IN_HOME.map((path) => `${operatorHome}/${path}`)];
}

function distinct(paths: readonly string[]): readonly string[] {
  return [...new Set(paths)];
}

/** SECURITY: T-20 — what cannot be held is refused, never passed over. */
function refuseProfile(
  command: SandboxCommand,
  { tier, egress, mustHold }: SandboxProfile,
  { terminalDevice }: SeatbeltSurvey,
): Refusal | undefined {
  if (tier !== 'C') return unsupported('There is no Tier B on macOS.', 'Use Tier C.');
  if (egress.mode !== 'strict' || egress.hosts.length > 0) {
    return unsupported('On macOS commands have no network at all.', 'Take the hosts out of the profile.');
  }
  const [held] = mustHold;
  if (held !== undefined) {
    return unsupported(
      `macOS cannot hold the limit ${held} for all processes together.`,
      'Take it out of `mustHold`, or run the command on Linux.',
    );
  }
  if (command.terminal !== undefined && !/^\/dev\/ttys[0-9]{3,5}$/.test(terminalDevice ?? '')) {
    return unsupported('There is no terminal for the command.', 'Run it without one.');
  }
  return undefined;
}

function refuseReach(reach: Reach, survey: SeatbeltSurvey): Refusal | undefined {
  const { operatorHome, readable, writable, hidden, kept } = reach;
  const places = [...readable, ...writable];
  const every = [operatorHome, ...places, ...hidden, ...kept, survey.program, ...survey.toolchains.path.split(':')];
  // SECURITY: T-08 — a plan is shown before it is run, and a line break in a path would draw another plan.
  if (every.some((path) => !path.startsWith('/') || CONTROL.test(path))) {
    return refused('sandbox.invalid_profile', 'A path is not absolute, or holds a control character.');
  }
  // SECURITY: T-41 — whoever names the workspace must not name everything.
  if (places.some((path) => isInside(operatorHome, path))) {
    return refused('sandbox.unsafe_workspace', 'The command would be given the whole home directory, or more.');
  }
  if (places.some((path) => secretPlaces(operatorHome).some((each) => isInside(path, each)))) {
    return refused('sandbox.unsafe_workspace', 'The command would be given a place where credentials are kept.');
  }
  if (places.some((path) => hidden.some((each) => isInside(path, each)))) {
    return refused('sandbox.invalid_profile', 'A path that the command is given lies in one that is hidden from it.');
  }
  return undefined;
}

const CONTROL = /[\p{Cc}\p{Zl}\p{Zp}]/u;

function macEnvironment({ toolchains, home, temporary, developerDirectory }: SeatbeltSurvey): Record<string, string> {
  return {
    ...toolchains.environment,
    ...(developerDirectory === undefined ? {} : { DEVELOPER_DIR: kernelPath(developerDirectory) }),
    PATH: toolchains.path,
    HOME: kernelPath(home),
    SHELL: '/bin/sh',
    TMPDIR: kernelPath(temporary),
  };
}

function unsupported(message: string, fix: string): Refusal {
  return { kind: 'refused', code: 'sandbox.unsupported', message, fix };
}

function refused(code: 'sandbox.invalid_profile' | 'sandbox.unsafe_workspace', message: string): Refusal {
  return { kind: 'refused', code, message, fix: 'Give the command a directory of its own.' };
}
