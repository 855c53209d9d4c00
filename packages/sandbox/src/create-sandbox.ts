import { join } from 'node:path';
import type { Logger } from '@palyra/primitives';
import { actAs, becomeUser, type HostUser } from './become-user.ts';
import type { Binding } from './bind/binding.ts';
import { createBinder, type PlannedCommand } from './bind/create-binder.ts';
import { asChanged } from './bind/refuse-binding.ts';
import { hostCgroupFiles } from './cgroup/cgroup-files.ts';
import { type CgroupDriver, detectCgroups } from './cgroup/detect-cgroups.ts';
import { prepareCgroups } from './cgroup/prepare-cgroups.ts';
import { removeCgroup, removeStale } from './cgroup/remove-stale.ts';
import { chooseBackend, refuseToRun } from './choose-backend.ts';
import type { SandboxCommand } from './command.ts';
import { createGates, type Gate, type GateProgram, type Gates } from './gate.ts';
import { gateClosed } from './job-outcome.ts';
import type { ToolIdentity } from './launch-plan.ts';
import type { NamedWayOut } from './launcher/encode-request.ts';
import { findLauncher } from './launcher/find-launcher.ts';
import { type Launcher, type LauncherFacts, startLauncher } from './launcher/start-launcher.ts';
import { MAX_LABEL } from './launcher/wire.ts';
import { isLetGo } from './may-begin.ts';
import { createPlanner, type Planned, type Planning, type PlanOptions, rememberFiles } from './plan-command.ts';
import type { PoolSettings } from './pool/shelves.ts';
import { hostStampFiles } from './pool/stamp-files.ts';
import { createWarmPool, DEFAULT_POOL, type WarmPool } from './pool/warm-pool.ts';
import { warmUp } from './pool/warm-sandbox.ts';
import type { SandboxProfile } from './profile.ts';
import { createProtection, runsDirectory } from './protect/create-protection.ts';
import { launcherGone, leftRuns } from './protect/left-runs.ts';
import { makeUpRuns } from './protect/make-up-runs.ts';
import { createProtectedRuns } from './protect/protected-runs.ts';
import type { ProtectedChange } from './protect/put-back.ts';
import { type JobContext, type Running, type RunOptions, runJob, type WayOut } from './run-job.ts';
import type { Refusal, RunResult } from './run-result.ts';
import { SandboxError } from './sandbox-error.ts';
import { hostDirectories } from './survey/directory-files.ts';
import { findBubblewrap } from './survey/find-bubblewrap.ts';
import { chooseGateIdentity } from './survey/gate-identity.ts';
import { hostSurveyFiles, resolvePath } from './survey/survey-files.ts';
import { createSurveyor, type OperatorPlaces } from './survey/survey-host.ts';

/** One argv under one profile in, one result out. */
export interface Sandbox {
  /** Refusals and failures are values; does not throw. */
  run(command: SandboxCommand, profile: SandboxProfile, options?: RunOptions): Promise<RunResult>;
  /**
   * Starts the program to which the listeners of commands are passed. It lives until it is closed, or ends by itself.
   * Throws `sandbox.gate_closed`, `sandbox.unsafe_identity` and `sandbox.launcher_failed`.
   */
  openGate(program: GateProgram): Promise<Gate>;
  /** Which bytes the command would run, to be approved and given to `run`. Refusals are values; does not throw. */
  bind(command: SandboxCommand, profile: SandboxProfile, options?: PlanOptions): Promise<Binding | Refusal>;
  /** What `run` would do, without doing it. */
  plan(command: SandboxCommand, profile: SandboxProfile, options?: PlanOptions): Promise<Planning>;
  readonly about: SandboxFacts;
  /** Resolves when no sandbox is being started ahead of its command; how many wait for one then. */
  warmed(): Promise<number>;
  /** Ends everything that runs. */
  close(): Promise<void>;
}

export interface SandboxFacts {
  readonly launcher: LauncherFacts;
  readonly cgroups: CgroupDriver;
  readonly bubblewrap: string | undefined;
  /** Protected paths that commands had changed which ran when another daemon was killed. They are in the log, too. */
  readonly madeUp: readonly ProtectedChange[];
}

export interface SandboxOptions {
  readonly operator: OperatorPlaces;
  readonly logger: Pick<Logger, 'error'>;
  readonly now?: () => number;
  /** Where that is put which a tool wrote to protected paths; in Palyra's home when absent. Ours alone. */
  readonly keptDirectory?: string;
  /** Where the launcher is; found beside this package when absent. */
  readonly launcherProgram?: string;
  /**
   * Tools of this user only. It takes root to start with; this process becomes that user, for good, as soon as the launcher
   * runs and before it looks at anything of theirs.
   */
  readonly owner?: HostUser;
  /** Sandboxes that are started ahead, for profiles that are used again and again; what is not said is the default. */
  readonly pool?: Partial<PoolSettings> | 'off';
}

/**
 * Starts the launcher, so call it before the process grows. Removes what a launcher that was killed has left behind, and
 * makes up for the looks at protected paths that a daemon that was killed did not come to.
 * Throws `sandbox.launcher_missing` and `sandbox.launcher_failed`.
 */
export async function createSandbox(options: SandboxOptions): Promise<Sandbox> {
  refuseOtherSystems();
  const program = options.launcherProgram ?? findLauncher();
  if (program === undefined) {
    throw new SandboxError('sandbox.launcher_missing', 'There is no launcher for this machine.', {
      fix: 'Run the set-up, which compiles it (it needs cc), or install a release, which brings it along.',
    });
  }
  const gateUser = chooseGateIdentity();
  const launcher = await startLauncher({ program, only: options.owner, gate: gateUser, logger: options.logger });
  try {
    return await compose(launcher, gateUser, options);
  } catch (error) {
    await launcher.close();
    throw error;
  }
}

/** Where there are plans and no launcher, running the set-up would not help: the fix is another one. */
function refuseOtherSystems(): void {
  const choices = (['C', 'B'] as const).map((tier) => chooseBackend(process.platform, { tier }));
  const refusals = choices.map((choice) => (choice.kind === 'chosen' ? refuseToRun(choice.backend) : choice));
  const [refusal] = refusals;
  if (refusal === undefined || refusals.includes(undefined)) return;
  throw new SandboxError(refusal.code, refusal.message, refusal.fix === undefined ? {} : { fix: refusal.fix });
}

async function compose(
  launcher: Launcher,
  gateUser: ToolIdentity | undefined,
  options: SandboxOptions,
): Promise<Sandbox> {
  const { operator, now = Date.now, keptDirectory = join(operator.palyraHome, 'kept'), pool: wanted = {} } = options;
  const { owner } = options;
  const changes = hostCgroupFiles(owner === undefined ? process.pid : process.ppid);
  const cgroups = prepareCgroups(detectCgroups(changes), changes);
  const look = () => lookForLost(runsDirectory(keptDirectory));
  const { lost, areGone } = await (owner === undefined ? look() : actAs(owner, look));
  // SECURITY: T-16 — a launcher that was killed could not remove its cgroups, nor what still ran in them.
  await removeStale(cgroups, changes);
  // SECURITY: T-42 — from here on the owner's files are read and put back, with the owner's rights.
  if (owner !== undefined) becomeUser(owner);

  const groups = process.getgroups?.() ?? [];
  const surveyor = createSurveyor({
    launcher: launcher.about,
    operator,
    cgroups,
    files: hostSurveyFiles,
    directories: hostDirectories,
    now,
    groups,
  });
  const planner = createPlanner({ surveyor, findBubblewrap: () => findBubblewrap(hostSurveyFiles) });
  const binder = createBinder({
    launcher: launcher.about,
    groups,
    files: hostSurveyFiles,
    programsOn: rememberFiles(),
  });
  const realPath = (path: string) => resolvePath(hostSurveyFiles, path);
  const protection = createProtection({
    keptDirectory,
    realPath,
    home: operator.home,
    now,
    launcher: { pid: launcher.about.pid, startTicks: launcher.about.startTicks },
  });
  const madeUp = await makeUpRuns(lost, {
    protection,
    logger: options.logger,
    isOver: (run) => areGone.get(run) === true && cgroups.kind !== 'none',
  });
  const protectedRuns = createProtectedRuns({
    planner,
    protection,
    endLost: async (plan) => {
      const left = await Promise.all(plan.cgroups.map(({ directory }) => removeCgroup(directory, changes)));
      return left.length > 0 && left.every((reason) => reason === undefined);
    },
  });
  const pool = wanted === 'off' ? undefined : openPool(launcher, now, { ...DEFAULT_POOL, ...wanted });
  const gates = createGates({ launcher, identity: gateUser, files: hostSurveyFiles, logger: options.logger });
  const { readText } = hostSurveyFiles;
  const context: JobContext = { launcher, now, cgroupDriver: cgroups.kind, readText, stampFiles: hostStampFiles };
  const closing = new AbortController();

  // Never from the pool: what is bound lies in a sandbox of its own, which is laid out for it.
  const runBound = async (planned: PlannedCommand, approved: Binding, run: NamedRun): Promise<RunResult> => {
    const prepared = await binder.prepare(planned, approved);
    if (prepared.kind === 'refused') return prepared;
    const { recheck, binding } = prepared;
    const { named: wayOut } = run;
    const result = await runJob(planner.layOut(prepared.planned), run, { ...context, wayOut, recheck });
    return 'executor' in result ? { ...result, bound: binding } : result;
  };
  // Nothing was started for it yet whose end would be heard of, and whoever would let it go may be gone.
  const untilClosed = ({ mayBegin, signal }: RunOptions): RunOptions => ({
    ...(mayBegin === undefined ? {} : { mayBegin }),
    signal: signal === undefined ? closing.signal : AbortSignal.any([signal, closing.signal]),
  });
  const runPlanned = async (planned: PlannedCommand & Planned, run: NamedRun): Promise<RunResult> => {
    const { command, profile, survey, plan } = planned;
    const inContext = { ...context, wayOut: run.named };
    binder.note(survey);
    if (run.bound !== undefined) return runBound(planned, run.bound, run);
    // A terminal is made with the sandbox, and its size is the caller's; an authority is of one call; somebody's login waits
    // in no box for its command; what is spoken with lives long, and nobody waits for it twice.
    const isOfItsOwn = [command.terminal, survey.trusted, profile.home, run.onPipes].some((own) => own !== undefined);
    if (pool === undefined || isOfItsOwn) return runJob(plan, run, inContext);
    const wayOut = run.named !== undefined;
    const use = pool.use(plan, (start) => protectedRuns.prepare(command, profile, { start, wayOut }));
    try {
      // SECURITY: T-44 — one that waits already is looked at when it is taken: that is when its tool may begin, not before.
      const mayTake = run.mayBegin === undefined || (use.isWaiting() && (await isLetGo(untilClosed(run))));
      return await runJob(plan, run, mayTake ? { ...inContext, takeWarm: use.take } : inContext);
    } finally {
      use.done();
    }
  };
  const runWatched = async (command: SandboxCommand, profile: SandboxProfile, run: RunOptions): Promise<RunResult> => {
    const named = run.wayOut && nameWayOut(run.wayOut, gates);
    if (named?.kind === 'refused') return named;
    const start = (planned: Planned, started: () => void) => {
      const onStart = (running: Running) => {
        started();
        run.onStart?.(running);
      };
      return runPlanned({ ...planned, command, profile }, { ...run, onStart, named });
    };
    const { signal } = run;
    const authority = run.wayOut?.authority;
    const trusting = authority === undefined ? {} : { authority };
    const job = { start, signal, wayOut: named !== undefined, ...trusting };
    const result = await protectedRuns.run(command, profile, job);
    return result.kind === 'refused' && run.bound !== undefined ? asChanged(result) : result;
  };
  const active = new Set<Promise<RunResult>>();
  return {
    about: { launcher: launcher.about, cgroups, bubblewrap: findBubblewrap(hostSurveyFiles), madeUp },
    openGate: async (program) => gates.open(program),
    plan: async (command, profile, wanting) => protectedRuns.plan(command, profile, wanting),
    async run(command, profile, run = {}) {
      // Heard of when its box is there.
      run.mayBegin?.catch(() => undefined);
      const running = runWatched(command, profile, run);
      active.add(running);
      try {
        return await running;
      } finally {
        active.delete(running);
      }
    },
    async bind(command, profile, wanting) {
      const planned = planner.plan(command, profile, wanting);
      return planned.kind === 'refused' ? planned : binder.bind({ command, profile, survey: planned.survey });
    },
    warmed: async () => (await pool?.settled()) ?? 0,
    async close() {
      closing.abort('closed');
      pool?.close();
      await launcher.close();
      // SECURITY: T-15 — what they left is looked at, and put back, before this process may end.
      await Promise.allSettled(active);
      protection.close();
    },
  };
}

interface NamedRun extends RunOptions {
  readonly named?: NamedWayOut | undefined;
}

const LABEL = new RegExp(`^[A-Za-z0-9_.-]{1,${MAX_LABEL}}$`);

function nameWayOut({ gate, label }: WayOut, gates: Gates): (NamedWayOut & { readonly kind: 'named' }) | Refusal {
  if (!LABEL.test(label)) {
    const message = 'The label of a way out is malformed.';
    return { kind: 'refused', code: 'sandbox.invalid_command', message, fix: 'Use letters, digits, `_`, `.` and `-`.' };
  }
  const number = gates.numberOf(gate);
  return number === undefined ? gateClosed() : { kind: 'named', gate: number, label };
}

async function lookForLost(directory: string) {
  const lost = leftRuns(directory);
  const areGone = new Map(await Promise.all(lost.map(async (run) => [run, await launcherGone(run)] as const)));
  return { lost, areGone };
}

/** How long a sandbox may take until it waits. */
const PREPARATION_MS = 30_000;

function openPool(launcher: Launcher, now: () => number, settings: PoolSettings): WarmPool {
  const lifeMs = Math.ceil(settings.maxAgeMs) + PREPARATION_MS;
  return createWarmPool({
    warmUp: (plan) => warmUp(plan, { launcher, files: hostStampFiles, lifeMs }),
    now,
    settings,
  });
}
