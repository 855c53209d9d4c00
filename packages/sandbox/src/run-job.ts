import type { Binding } from './bind/binding.ts';
import { createCapture } from './capture-output.ts';
import { compare } from './facts/compare.ts';
import type { Finding } from './facts/finding.ts';
import type { MeasuredFacts } from './facts/measured-facts.ts';
import type { RawFacts } from './facts/raw-facts.ts';
import { createInput, type InputSource } from './feed-input.ts';
import type { Gate } from './gate.ts';
import { failedToStart, launcherGone, notStarted, type OutcomeContext, outcomeOf, usageOf } from './job-outcome.ts';
import type { LaunchPlan } from './launch-plan.ts';
import type { EndReport } from './launcher/decode-reports.ts';
import type { NamedTool, NamedWayOut } from './launcher/encode-request.ts';
import type { HandedPipes } from './launcher/handed-pipes.ts';
import type { PassedSignal } from './launcher/passed-signals.ts';
import { CLOSED, type Job, type JobEvents, type Launcher } from './launcher/start-launcher.ts';
import { isLetGo, notLetGo } from './may-begin.ts';
import { createOutputCredit, OUTPUT_WINDOW } from './output-credit.ts';
import { isAsMeasured, isStillThere, type MountStamp, type StampFiles, stampMounts } from './pool/mount-stamp.ts';
import type { WarmSandbox } from './pool/warm-sandbox.ts';
import type { Ran, Refusal, RunResult } from './run-result.ts';
import { SandboxError } from './sandbox-error.ts';

export interface RunOptions {
  /** Nothing: there is no input. Asked for the first piece when the command runs, and not before. */
  readonly input?: InputSource;
  /** Each piece as it comes; the tool waits while a promise is pending. */
  onOutput?(stream: 'stdout' | 'stderr', bytes: Uint8Array): void | Promise<void>;
  /**
   * Wants its input and standard output themselves, once it runs: for a program that is spoken with, one word at a time. Then
   * neither `input` nor `onOutput` has to do with them, and no limit of output or of idle time. A sandbox that another
   * process has does not hand them over.
   */
  onPipes?(pipes: HandedPipes): void;
  /** Told once, before the first output. */
  onStart?(running: Running): void;
  /**
   * Told once, when everything that it started is dead or nothing more will be heard of it. The result comes when protected
   * paths were looked at. From a sandbox in another process only of a command with a way out, and not when that is gone.
   */
  onEnd?(): void;
  readonly signal?: AbortSignal;
  /** What was approved: other bytes are refused. */
  readonly bound?: Binding;
  /** For a profile that names hosts, or none and may ask: who decides about its connections, and as whose they are known there. */
  readonly wayOut?: WayOut;
  /** `none`: what it puts out is passed on and not in the result, and there is no end to it. */
  readonly kept?: 'none';
  /**
   * The sandbox is made at once, and the tool's first instruction waits for this. Who does not want it any more aborts
   * `signal`; when this rejects, nothing runs.
   */
  readonly mayBegin?: Promise<void>;
}

export interface WayOut {
  readonly gate: Gate;
  /** Nobody else's, and not to be guessed: 1 to 128 of `A-Z a-z 0-9 _ . -`. */
  readonly label: string;
  /** PEM of the authority of this call, when its TLS is ended there for some hosts: trusted in this box and nowhere else. */
  readonly authority?: string;
}

export interface Running {
  readonly facts: MeasuredFacts;
  /** Of its terminal; nothing happens without one. */
  resize(rows: number, columns: number): void;
  /**
   * SIGTERM, SIGUSR1 and SIGUSR2 go to the tool itself. What a terminal sends (SIGINT, SIGQUIT, SIGTSTP, SIGHUP, SIGCONT)
   * goes to its whole process group, and the first three to the foreground of its terminal, if it has one. Nothing
   * happens when it has ended.
   */
  signal(name: PassedSignal): void;
}

export interface JobContext extends Omit<OutcomeContext, 'plan'> {
  readonly launcher: Launcher;
  readonly now: () => number;
  /** For what waits for its word: whether its mounts are still those that were measured. */
  readonly stampFiles: StampFiles;
  /** Where its listener goes, of a plan that has one. */
  readonly wayOut?: NamedWayOut | undefined;
  /** Asked immediately before the word is given. */
  readonly recheck?: () => Refusal | undefined;
  /** One that was started ahead for this plan, if there is one. Asked once, when the command begins. */
  takeWarm?(): WarmSandbox | undefined;
}

/** Starts what is planned, looks whether it is that, lets it run and tells what became of it. Does not throw. */
export function runJob(plan: LaunchPlan, options: RunOptions, context: JobContext): Promise<RunResult> {
  const { launcher, now } = context;
  const outcome = { ...context, plan };
  const isHeld = options.mayBegin !== undefined;
  // Of one that waits for its word: when that is given.
  let startedAt = isHeld ? undefined : now();
  const output = createCapture();
  const input = createInput(options.input);
  const allow = createOutputCredit(() => job);
  let facts: MeasuredFacts | undefined;
  let refusal: Refusal | undefined;
  let job: Job | undefined;
  let warm: WarmSandbox | undefined;
  let stamp: MountStamp | undefined;
  let isOver = false;

  const ran = (report?: EndReport, endedAt = now()): Ran => ({
    executor: plan.executor,
    enforcement: plan.enforcement,
    output: output.taken(),
    usage: usageOf(report, outcome),
    facts,
    pooled: warm !== undefined,
    // Looked at when everything that it started is dead: by the caller of this.
    protectedChanged: [],
    // SECURITY: T-32 — what was never let go did nothing, and so nothing before it was on record.
    startedAt: startedAt ?? endedAt,
    endedAt,
  });
  const handOver = options.onPipes !== undefined;
  const stdin = handOver || options.input !== undefined;
  const begin = (begun: Job, measured: MeasuredFacts, tool?: NamedTool): void => {
    facts = measured;
    startedAt ??= now();
    const resize = (rows: number, columns: number) => begun.resize(rows, columns);
    // From within `onStart`, too, it comes after the word: before that there is no tool to hear it.
    const signal = (name: PassedSignal) => queueMicrotask(() => begun.signal(name));
    if (!callerTakes(() => options.onStart?.({ facts: measured, resize, signal }))) {
      begun.kill();
      return;
    }
    begun.go({ tool, wayOut: context.wayOut, handOver });
    // Not before: a terminal echoes what is typed, and until now it was bubblewrap that spoke.
    if (stdin && !handOver) void input.feed(begun);
  };
  const start = (heard: JobEvents): Job => {
    warm = context.takeWarm?.();
    if (warm === undefined) {
      if (isHeld) stamp = stampMounts(plan, context.stampFiles);
      return launcher.start(plan, heard, { stdin });
    }
    job = warm.adopt(heard);
    // SECURITY: T-20 — its facts were compared with a plan of the same key, and its mounts are those that were measured.
    begin(job, warm.facts, { ...plan.tool, stdin });
    return job;
  };
  const events = (finish: (result: RunResult) => void): JobEvents => ({
    facts(raw) {
      void check(raw, plan, { ...context, letGo: () => isLetGo(options), stamp: () => stamp }).then((checked) => {
        // It may have ended meanwhile, and whoever called knows it.
        if (isOver) return;
        // Of a sandbox that is being ended they are not those of the plan, and that is no finding.
        const isCancelled = options.signal?.aborted === true;
        if (checked.kind === 'differs' && !isCancelled) refusal = checked.refusal;
        if (checked.kind === 'as_planned' && !isCancelled && job !== undefined) begin(job, checked.facts);
        else job?.kill();
      });
    },
    output(stream, bytes) {
      // Of what fails before the word somebody must be told the reason.
      if (options.kept !== 'none' || facts === undefined) output.add(stream, bytes);
      // Before the word is given only bubblewrap speaks: it says why there is no sandbox.
      const consume = facts === undefined ? undefined : options.onOutput;
      void consumed(() => consume?.(stream, bytes)).then((ok) => (ok ? allow(bytes.length) : job?.kill()));
    },
    taken: (bytes) => input.taken(bytes),
    pipes(pipes) {
      if (!callerTakes(() => options.onPipes?.(pipes))) job?.kill();
    },
    ended(report) {
      if (refusal !== undefined) finish(refusal);
      else if (!report.started && report.reason !== 'cancelled') finish(notStarted(output.taken(), outcome));
      else finish(outcomeOf(report, ran(report), outcome));
    },
    failed: (message) => finish(refusal ?? failedToStart(message, outcome)),
    // SECURITY: T-32 — once the word was given it has run, and nobody may be told that it has not.
    lost(fault) {
      if (facts === undefined) finish(refusal ?? launcherGone(fault));
      else finish({ kind: fault.message === CLOSED ? 'cancelled' : 'lost', ...ran() });
    },
  });

  return new Promise((resolve) => {
    const cancel = () => job?.kill();
    const finish = (result: RunResult) => {
      isOver = true;
      input.stop();
      options.signal?.removeEventListener('abort', cancel);
      if (facts !== undefined) callerTakes(() => options.onEnd?.());
      resolve(result);
    };
    if (options.signal?.aborted === true) {
      finish({ kind: 'cancelled', ...ran() });
      return;
    }
    options.signal?.addEventListener('abort', cancel, { once: true });
    try {
      job = start(events(finish));
    } catch (error) {
      if (!(error instanceof SandboxError)) throw error;
      finish(launcherGone(error));
      return;
    }
    job.allow(OUTPUT_WINDOW);
  });
}

/** A caller that throws wants no more of it: the command is ended, and the result says cancelled. */
function callerTakes(tell: () => void): boolean {
  try {
    tell();
    return true;
  } catch {
    return false;
  }
}

async function consumed(consume: () => void | Promise<void>): Promise<boolean> {
  try {
    await consume();
    return true;
  } catch {
    return false;
  }
}

type Checked =
  | { readonly kind: 'as_planned'; readonly facts: MeasuredFacts }
  | { readonly kind: 'differs'; readonly refusal: Refusal };

interface Checking extends Pick<JobContext, 'launcher' | 'recheck' | 'stampFiles'> {
  letGo(): Promise<boolean>;
  /** Of what waited: taken before it was started. */
  stamp(): MountStamp | undefined;
}

async function check(raw: RawFacts, plan: LaunchPlan, checking: Checking): Promise<Checked> {
  const judged = await judge(raw, plan, checking.launcher);
  const unfit = judged.kind === 'differs' ? undefined : await afterWaiting(raw, plan, checking);
  if (unfit !== undefined) return { kind: 'differs', refusal: unfit };
  // SECURITY: T-04 — the last moment at which a file that runs in its place can be looked at.
  const changed = checking.recheck?.();
  return changed === undefined ? judged : { kind: 'differs', refusal: changed };
}

/** Why what is as planned does not run, if it does not. */
async function afterWaiting(raw: RawFacts, plan: LaunchPlan, checking: Checking): Promise<Refusal | undefined> {
  const { letGo, stampFiles: files } = checking;
  // SECURITY: T-32 — what was asked for before it is on record runs when it is, or not at all.
  if (!(await letGo())) return notLetGo();
  const stamp = checking.stamp();
  if (stamp === undefined || (isStillThere(stamp, files) && isAsMeasured(plan, raw, files))) return undefined;
  // SECURITY: T-44 — it waited, as those of the pool do, and is not what was measured.
  return notAsPlanned(['What is mounted was replaced while its command waited.']);
}

/** SECURITY: T-20 — what cannot be read counts as what differs: the tool does not run. */
async function judge(raw: RawFacts, plan: LaunchPlan, { about }: Launcher): Promise<Checked> {
  try {
    const compared = await compare(raw, plan.expected, about);
    if (compared.kind === 'as_planned') return compared;
    return { kind: 'differs', refusal: notAsPlanned(compared.findings.map(asSentence)) };
  } catch (error) {
    return {
      kind: 'differs',
      refusal: notAsPlanned([error instanceof Error ? error.message : 'They cannot be read.']),
    };
  }
}

function asSentence({ what, expected, found }: Finding): string {
  return `${what} Expected ${expected}, found ${found}.`;
}

function notAsPlanned(findings: readonly string[]): Refusal {
  return {
    kind: 'refused',
    code: 'sandbox.enforcement_failed',
    message: `The sandbox is not the one that was planned: ${findings.join(' ')}`,
    fix: 'Run `palyra doctor` to see what this host enforces.',
  };
}
