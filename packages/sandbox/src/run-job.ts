import { constants } from 'node:os';
import {
  type Explanation,
  explainFailure,
  explainLauncherFailure,
  type ReadHostText,
} from './backends/bubblewrap/explain-failure.ts';
import { type CgroupCounters, countersOf } from './cgroup/read-counters.ts';
import { compare } from './facts/compare.ts';
import type { Finding } from './facts/finding.ts';
import type { MeasuredFacts } from './facts/measured-facts.ts';
import type { RawFacts } from './facts/raw-facts.ts';
import type { LaunchPlan } from './launch-plan.ts';
import type { EndReport } from './launcher/decode-reports.ts';
import type { Job, Launcher } from './launcher/start-launcher.ts';
import { STDIN_WINDOW } from './launcher/wire.ts';
import type { CapturedOutput, Quota, Ran, Refusal, RunResult } from './run-result.ts';
import { SandboxError } from './sandbox-error.ts';

export interface RunOptions {
  /** Everything that is to be read, and then the end. Nothing: there is no input. */
  readonly input?: Iterable<Uint8Array> | AsyncIterable<Uint8Array>;
  /** Each piece as it comes; the tool waits while a promise is pending. */
  onOutput?(stream: 'stdout' | 'stderr', bytes: Uint8Array): void | Promise<void>;
  /** Told once, before the first output. */
  onStart?(running: Running): void;
  readonly signal?: AbortSignal;
}

export interface Running {
  readonly facts: MeasuredFacts;
  resize(rows: number, columns: number): void;
}

export interface JobContext {
  readonly launcher: Launcher;
  readonly now: () => number;
  readonly cgroupDriver: MeasuredFacts['cgroup']['driver'];
  /** Settings of the host, for the reason why there is no sandbox. */
  readonly readText: ReadHostText;
}

/** Output that may be on its way before it was consumed. */
const OUTPUT_WINDOW = 256 * 1024;

/** Starts what is planned, looks whether it is that, lets it run and tells what became of it. Does not throw. */
export function runJob(plan: LaunchPlan, options: RunOptions, context: JobContext): Promise<RunResult> {
  const { launcher, now } = context;
  const startedAt = now();
  const output = createCapture();
  let facts: MeasuredFacts | undefined;
  let refusal: Refusal | undefined;

  return new Promise((resolve) => {
    let job: Job | undefined;
    const cancel = () => job?.kill();
    const finish = (result: RunResult) => {
      options.signal?.removeEventListener('abort', cancel);
      resolve(result);
    };
    const ran = (report?: EndReport): Ran => ({
      output: output.taken(),
      usage: usageOf(report, countersOf(context.cgroupDriver, report?.cgroupFiles ?? {})),
      facts,
      startedAt,
      endedAt: now(),
    });
    if (options.signal?.aborted === true) {
      finish({ kind: 'cancelled', ...ran() });
      return;
    }

    const input = createInput(options.input);
    try {
      job = launcher.start(
        plan,
        {
          facts(raw) {
            const checked = check(raw, plan, launcher);
            if (checked.kind === 'differs') {
              refusal = checked.refusal;
              job?.kill();
              return;
            }
            ({ facts } = checked);
            options.onStart?.({ facts, resize: (rows, columns) => job?.resize(rows, columns) });
            job?.go();
          },
          output(stream, bytes) {
            // Before the word is given only bubblewrap speaks: it says why there is no sandbox.
            output.add(stream, bytes);
            const consumed = facts === undefined ? undefined : options.onOutput?.(stream, bytes);
            if (consumed === undefined) job?.allow(bytes.length);
            else void consumed.finally(() => job?.allow(bytes.length)).catch(() => job?.kill());
          },
          taken: (bytes) => input.taken(bytes),
          ended(report) {
            input.stop();
            if (refusal !== undefined) finish(refusal);
            else if (!report.started && report.reason === 'none') finish(notStarted(output.taken(), context));
            else finish(outcomeOf(report, ran(report), { ...context, cpuMs: cpuMsOf(plan) }));
          },
          failed(message) {
            input.stop();
            finish(refusal ?? failedToStart(message));
          },
        },
        { stdin: options.input !== undefined },
      );
    } catch (error) {
      if (!(error instanceof SandboxError)) throw error;
      finish(failedToStart(error.message));
      return;
    }
    options.signal?.addEventListener('abort', cancel, { once: true });
    job.allow(OUTPUT_WINDOW);
    if (options.input !== undefined) void input.feed(job);
  });
}

/** SECURITY: T-20 — what cannot be read counts as what differs: the tool does not run. */
function check(
  raw: RawFacts,
  plan: LaunchPlan,
  { about }: Launcher,
):
  | { readonly kind: 'as_planned'; readonly facts: MeasuredFacts }
  | { readonly kind: 'differs'; readonly refusal: Refusal } {
  try {
    const compared = compare(raw, plan.expected, about);
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

/** bubblewrap ended before our part of it began; what it printed is the reason. */
function notStarted({ stderr }: CapturedOutput, { readText }: JobContext): RunResult {
  const said = Buffer.from(stderr).toString('utf8').trim().slice(0, 500);
  const explained = explainFailure(said, readText);
  if (explained !== undefined) return asResult(explained);
  return failedToStart(said === '' ? 'The sandbox ended before the tool began.' : said);
}

function asResult({ kind, reason: message, fix }: Explanation): RunResult {
  // SECURITY: T-20 — a layer that this host does not allow is a refusal, never a sandbox without it.
  if (kind === 'unsupported') return { kind: 'refused', code: 'sandbox.unsupported', message, fix };
  return { kind: 'failed_to_start', code: 'sandbox.start_failed', message, fix };
}

function failedToStart(message: string): RunResult {
  const explained = explainLauncherFailure(message);
  if (explained !== undefined) return asResult(explained);
  const isMissing = /could not be executed: (?:No such file|Not a directory)/.test(message);
  return {
    kind: 'failed_to_start',
    code: isMissing ? 'sandbox.executable_not_found' : 'sandbox.start_failed',
    message,
    fix: isMissing
      ? 'Give the path of a program that the profile makes visible.'
      : 'Run `palyra doctor` to see what this host enforces.',
  };
}

interface OutcomeContext extends JobContext {
  /** That each process may use. */
  readonly cpuMs: number;
}

function cpuMsOf({ rlimits }: LaunchPlan): number {
  return (rlimits.find(({ name }) => name === 'cpu')?.soft ?? Infinity) * 1000;
}

function outcomeOf(report: EndReport, ran: Ran, { cgroupDriver, cpuMs }: OutcomeContext): RunResult {
  const { reason } = report;
  if (reason === 'wall' || reason === 'idle') return { kind: 'timed_out', limit: reason, ...ran };
  if (reason === 'cancelled') return { kind: 'cancelled', ...ran };
  if (reason === 'output' || reason === 'cpu') return { kind: 'quota_exceeded', quota: reason, ...ran };
  const quota = quotaOf(report, countersOf(cgroupDriver, report.cgroupFiles), cpuMs);
  if (quota !== undefined) return { kind: 'quota_exceeded', quota, ...ran };
  if (report.signal !== 0) return { kind: 'signalled', signal: signalName(report.signal), ...ran };
  return { kind: 'completed', exitCode: report.exitCode, ...ran };
}

/** A tool that hit a limit and still succeeded has coped with it. */
function quotaOf(report: EndReport, counters: CgroupCounters, cpuMs: number): Quota | undefined {
  const { signal, exitCode, full } = report;
  if (signal === 0 && exitCode === 0) return undefined;
  // A shell says 128 + n of the command that it ran last.
  const fatal = signal === 0 && exitCode > 128 ? exitCode - 128 : signal;
  if (fatal === constants.signals.SIGXCPU) return 'cpu';
  // Who ignores that is killed a second later.
  if (fatal === constants.signals.SIGKILL && report.userMs + report.systemMs >= cpuMs) return 'cpu';
  if (fatal === constants.signals.SIGXFSZ) return 'file_size';
  if ((counters.oomKills ?? 0) > 0) return 'memory';
  if ((counters.forksRefused ?? 0) > 0) return 'processes';
  if (full) return 'disk';
  return undefined;
}

function signalName(number: number): string {
  const found = Object.entries(constants.signals).find(([, value]) => value === number);
  return found?.[0] ?? `SIG${number}`;
}

function usageOf(report: EndReport | undefined, counters: CgroupCounters): Ran['usage'] {
  return {
    wallMs: report?.wallMs ?? 0,
    userMs: report?.userMs ?? 0,
    systemMs: report?.systemMs ?? 0,
    maxRssBytes: counters.memoryPeakBytes ?? report?.maxRssBytes ?? 0,
    outputBytes: report?.outputBytes ?? 0,
  };
}

interface Capture {
  add(stream: 'stdout' | 'stderr', bytes: Buffer): void;
  taken(): CapturedOutput;
}

function createCapture(): Capture {
  const streams = { stdout: [] as Buffer[], stderr: [] as Buffer[] };
  return {
    // The bytes are a view of what came from the socket, and that is reused.
    add: (stream, bytes) => void streams[stream].push(Buffer.from(bytes)),
    taken: () => ({ stdout: Buffer.concat(streams.stdout), stderr: Buffer.concat(streams.stderr) }),
  };
}

interface Input {
  feed(job: Job): Promise<void>;
  taken(bytes: number): void;
  stop(): void;
}

/** Sends no more than the launcher has room for: a tool that does not read makes the source wait. */
function createInput(source: RunOptions['input'] = []): Input {
  let room = STDIN_WINDOW;
  let stopped = false;
  let wake: (() => void) | undefined;
  const awaitRoom = () => new Promise<void>((resolve) => (wake = resolve));
  const roomChanged = () => {
    wake?.();
    wake = undefined;
  };
  const sendPiece = async (piece: Uint8Array, job: Job) => {
    for (let at = 0; at < piece.length && !stopped; ) {
      while (room === 0 && !stopped) await awaitRoom();
      const part = piece.subarray(at, at + Math.min(room, STDIN_WINDOW / 4));
      room -= part.length;
      at += part.length;
      job.write(part);
    }
  };
  return {
    async feed(job) {
      try {
        for await (const piece of source) {
          await sendPiece(piece, job);
          if (stopped) return;
        }
        job.endInput();
      } catch {
        // What the tool should have read is not to be had: it must not take a part for the whole.
        job.kill();
      }
    },
    taken(bytes) {
      room += bytes;
      roomChanged();
    },
    stop() {
      stopped = true;
      roomChanged();
    },
  };
}
