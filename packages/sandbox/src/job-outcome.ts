import { constants } from 'node:os';
import {
  type Explanation,
  explainFailure,
  explainLauncherFailure,
  type ReadHostText,
} from './backends/bubblewrap/explain-failure.ts';
import { type CgroupCounters, countersOf } from './cgroup/read-counters.ts';
import type { MeasuredFacts } from './facts/measured-facts.ts';
import type { LaunchPlan } from './launch-plan.ts';
import type { EndReport } from './launcher/decode-reports.ts';
import type { CapturedOutput, Quota, Ran, Refusal, RunResult } from './run-result.ts';
import type { SandboxError, SandboxErrorCode } from './sandbox-error.ts';

export interface OutcomeContext {
  readonly plan: LaunchPlan;
  readonly cgroupDriver: MeasuredFacts['cgroup']['driver'];
  /** Settings of the host, for the reason why there is no sandbox. */
  readonly readText: ReadHostText;
}

const DOCTOR = 'Run `palyra doctor` to see what this host enforces.';

/** bubblewrap ended before our part of it began; what it printed is the reason, and may name places of the host. */
export function notStarted({ stderr }: CapturedOutput, { readText }: OutcomeContext): RunResult {
  const said = Buffer.from(stderr).toString('utf8').trim().slice(0, 500);
  const explained = explainFailure(said, readText);
  if (explained !== undefined) return asResult(explained);
  return startFailed('The sandbox ended before the tool began.', DOCTOR);
}

function asResult({ kind, reason: message, fix }: Explanation): RunResult {
  // SECURITY: T-20 — a layer that this host does not allow is a refusal, never a sandbox without it.
  if (kind === 'unsupported') return { kind: 'refused', code: 'sandbox.unsupported', message, fix };
  return startFailed(message, fix);
}

/** The launcher or the process that was to become the tool says why it did not. */
export function failedToStart(message: string, { readText }: Pick<OutcomeContext, 'readText'>): RunResult {
  const explained = explainLauncherFailure(message, readText);
  if (explained !== undefined) return asResult(explained);
  const known = KNOWN_FAILURES.find(({ says }) => says.test(message));
  if (known === undefined) return startFailed(asSentence(message), DOCTOR);
  const { code, fix } = known;
  return { kind: 'failed_to_start', code, message: asSentence(message), fix };
}

/** The launcher says what it could not do, and the kernel's word for it. */
function asSentence(message: string): string {
  return `${message.charAt(0).toUpperCase()}${message.slice(1)}${message.endsWith('.') ? '' : '.'}`;
}

const GATE_FIX = 'Run it again: the proxy is started anew. If that does not help, palyrad’s log says why it ends.';

const KNOWN_FAILURES: readonly { readonly says: RegExp; readonly code: SandboxErrorCode; readonly fix: string }[] = [
  {
    says: /could not be executed: (?:No such file|Not a directory|Too many levels of symbolic links)/,
    code: 'sandbox.executable_not_found',
    fix:
      'Name a program that is there: in the workspace, or on your PATH. What the first line of a script names must be ' +
      'there, too; a carriage return at its end is part of that name.',
  },
  {
    says: /could not be executed: Permission denied/,
    code: 'sandbox.executable_not_found',
    fix: 'Name a program: it is a directory, or a file that is not executable.',
  },
  {
    says: /could not be executed: Exec format error/,
    code: 'sandbox.executable_not_found',
    fix: 'Name a program of this kind of machine; a script needs a first line that names its interpreter (#!/bin/sh).',
  },
  {
    // All of it together, with the variables: the kernel's bound depends on the stack that palyrad may have.
    says: /could not be executed: Argument list too long/,
    code: 'sandbox.invalid_command',
    fix: 'Write what is long to a file, or send it as input.',
  },
  {
    says: /working directory cannot be entered/,
    code: 'sandbox.invalid_command',
    fix: 'Give a working directory in the workspace, or none.',
  },
  // SECURITY: T-22 — decided by the launcher in the moment in which the tool would begin.
  { says: /^The gate /, code: 'sandbox.gate_closed', fix: GATE_FIX },
  { says: /^Too many commands/, code: 'sandbox.overloaded', fix: 'Try again when one of them has ended.' },
];

/** Known before anything was started. */
export function gateClosed(): Refusal {
  return { kind: 'refused', code: 'sandbox.gate_closed', message: 'The gate is closed.', fix: GATE_FIX };
}

/** There is no launcher any more; nothing had run yet. */
export function launcherGone({ code, message, fix }: SandboxError): RunResult {
  return { kind: 'failed_to_start', code, message, fix };
}

function startFailed(message: string, fix: string): RunResult {
  return { kind: 'failed_to_start', code: 'sandbox.start_failed', message, fix };
}

export function outcomeOf(report: EndReport, ran: Ran, { plan, cgroupDriver }: OutcomeContext): RunResult {
  const { reason } = report;
  if (reason === 'wall' || reason === 'idle') return { kind: 'timed_out', limit: reason, ...ran };
  if (reason === 'cancelled') return { kind: 'cancelled', ...ran };
  if (reason === 'output' || reason === 'cpu') return { kind: 'quota_exceeded', quota: reason, ...ran };
  const quota = quotaOf(report, () => countersOf(cgroupDriver, report.cgroupFiles), cpuMsOf(plan));
  if (quota !== undefined) return { kind: 'quota_exceeded', quota, ...ran };
  if (report.signal !== 0) return { kind: 'signalled', signal: signalName(report.signal), ...ran };
  return { kind: 'completed', exitCode: report.exitCode, ...ran };
}

/** That each process may use. */
function cpuMsOf({ rlimits }: LaunchPlan): number {
  return (rlimits.find(({ name }) => name === 'cpu')?.soft ?? Infinity) * 1000;
}

/** A tool that hit a limit and still succeeded has coped with it. */
function quotaOf(report: EndReport, read: () => CgroupCounters, cpuMs: number): Quota | undefined {
  const { signal, exitCode, full } = report;
  if (signal === 0 && exitCode === 0) return undefined;
  // A shell says 128 + n of the command that it ran last.
  const fatal = signal === 0 && exitCode > 128 ? exitCode - 128 : signal;
  if (fatal === constants.signals.SIGXCPU) return 'cpu';
  // Who ignores that is killed a second later.
  if (fatal === constants.signals.SIGKILL && report.userMs + report.systemMs >= cpuMs) return 'cpu';
  if (fatal === constants.signals.SIGXFSZ) return 'file_size';
  const counters = read();
  if ((counters.oomKills ?? 0) > 0) return 'memory';
  if ((counters.forksRefused ?? 0) > 0) return 'processes';
  if (full) return 'disk';
  return undefined;
}

function signalName(number: number): string {
  const found = Object.entries(constants.signals).find(([, value]) => value === number);
  return found?.[0] ?? `SIG${number}`;
}

export function usageOf(report: EndReport | undefined, { cgroupDriver }: OutcomeContext): Ran['usage'] {
  const counters = countersOf(cgroupDriver, report?.cgroupFiles ?? {});
  const { userMs = 0, systemMs = 0 } = report ?? {};
  // Processes that were killed with their pid namespace are in nobody's account but the cgroup's.
  const uncounted = Math.max(0, (counters.cpuMs ?? 0) - userMs - systemMs);
  return {
    wallMs: report?.wallMs ?? 0,
    userMs: userMs + uncounted,
    systemMs,
    maxRssBytes: counters.memoryPeakBytes ?? report?.maxRssBytes ?? 0,
    outputBytes: report?.outputBytes ?? 0,
  };
}
