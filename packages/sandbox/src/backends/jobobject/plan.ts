import type { SandboxCommand } from '../../command.ts';
import type { LaunchPlan } from '../../launch-plan.ts';
import type { Limits, SandboxProfile } from '../../profile.ts';
import type { Refusal } from '../../run-result.ts';
import { toolEnvironment } from '../../tool-environment.ts';

export const JOB_OBJECT_EXECUTOR = 'sandbox_tier_c_windows_job_object';

/** The way to a wall on Windows. */
export const WSL_FIX = 'Install WSL2 (`wsl --install`) and run palyrad there: it is Linux, and has Tier C.';

/** What a plan needs to know of the machine: looked up beforehand, so that planning is pure. */
export interface JobObjectSurvey {
  readonly workspaceRoot: string;
  readonly program: string;
  readonly path: string;
  readonly temporary: string;
  /** `%SystemRoot%`: without it hardly a program starts. */
  readonly systemRoot: string;
  readonly processors: number;
}

export interface JobObjectPlan {
  readonly executor: string;
  /** No wall: files, network and other processes are what they are for the user. */
  readonly enforcement: 'limits_only';
  readonly tool: LaunchPlan['tool'];
  readonly job: JobLimits;
  readonly watch: Pick<LaunchPlan['watch'], 'wallMs' | 'idleMs' | 'outputBytes'>;
}

/** The fields of a job object, in Windows' own units and names. */
export interface JobLimits {
  readonly limitFlags: number;
  readonly activeProcessLimit: number;
  readonly jobMemoryLimit: number;
  /** User time of all processes together, in units of 100 ns. */
  readonly perJobUserTimeLimit: number;
  readonly cpuRateFlags: number;
  /** Hundredths of a percent of all processors. */
  readonly cpuRate: number;
  readonly uiRestrictions: number;
}

export type JobObjectPlanning = { readonly kind: 'planned'; readonly plan: JobObjectPlan } | Refusal;

/** Limits for all processes of a command together, and an end to all of them; nothing is hidden from them. */
export function planJobObject(
  command: SandboxCommand,
  profile: SandboxProfile,
  survey: JobObjectSurvey,
): JobObjectPlanning {
  const refusal = refuseWall(profile) ?? refuseScript(survey.program);
  if (refusal !== undefined) return refusal;
  const { limits } = profile;
  return {
    kind: 'planned',
    plan: {
      executor: JOB_OBJECT_EXECUTOR,
      enforcement: 'limits_only',
      tool: {
        path: survey.program,
        argv: command.argv,
        environment: toolEnvironment(command, profile, { ours: windowsEnvironment(survey), defaults: {} }),
        cwd: command.cwd ?? survey.workspaceRoot,
        terminal: command.terminal,
      },
      job: jobLimits(limits, survey.processors),
      watch: { wallMs: limits.wallMs, idleMs: limits.idleMs, outputBytes: limits.outputBytes },
    },
  };
}

/** SECURITY: T-20 — whatever needs a wall is refused: a job object is none. */
function refuseWall({ tier, egress, workspace, maskedPaths, startedFor }: SandboxProfile): Refusal | undefined {
  if (egress.mode !== 'none') return noWall('A job object cannot restrict the network.');
  if (tier === 'C') return noWall('There is no Tier C on Windows: a job object limits, and hides nothing.');
  if (workspace.access === 'read-only') return noWall('A job object cannot make a workspace read-only.');
  if (maskedPaths.length > 0) return noWall('A job object cannot hide files.');
  // SECURITY: T-40 — with the operator's rights a tool reads palyrad's keys and ends it.
  if (startedFor === 'agent') return noWall('Nothing would keep an agent’s command from palyrad’s own files.');
  return undefined;
}

/** SECURITY: T-12 — cmd.exe reads their arguments once more, as a command line of its own. */
function refuseScript(program: string): Refusal | undefined {
  if (!/\.(?:bat|cmd)[. ]*$/i.test(program)) return undefined;
  return {
    kind: 'refused',
    code: 'sandbox.executable_not_allowed',
    message: 'Batch files are not run: their arguments would be read as commands.',
    fix: 'Name the program that the batch file starts.',
  };
}

function noWall(message: string): Refusal {
  return { kind: 'refused', code: 'sandbox.unsupported', message, fix: WSL_FIX };
}

const LIMIT = {
  jobTime: 0x4,
  activeProcess: 0x8,
  jobMemory: 0x200,
  dieOnUnhandledException: 0x400,
  // SECURITY: T-16 — the last handle is palyrad's: whatever becomes of it, the processes end.
  killOnJobClose: 0x2000,
} as const;

/** Enabled, and a hard cap. */
const CPU_RATE_FLAGS = 0x1 | 0x4;

/** Foreign handles, the clipboard, settings, atoms, desktops, logging off: all eight. */
const ALL_UI_RESTRICTIONS = 0xff;

/** SECURITY: T-16 — neither breakaway flag is among them: what a process starts is in the job as well. */
function jobLimits(limits: Limits, processors: number): JobLimits {
  return {
    limitFlags: Object.values(LIMIT).reduce((sum, flag) => sum | flag, 0),
    activeProcessLimit: limits.processes,
    jobMemoryLimit: limits.memoryBytes,
    perJobUserTimeLimit: limits.cpuMs * 10_000,
    cpuRateFlags: CPU_RATE_FLAGS,
    cpuRate: Math.min(10_000, Math.max(1, Math.floor((limits.cpuMilli * 10) / processors))),
    uiRestrictions: ALL_UI_RESTRICTIONS,
  };
}

function windowsEnvironment({ path, temporary, systemRoot, workspaceRoot }: JobObjectSurvey): Record<string, string> {
  return {
    PATH: path,
    HOME: workspaceRoot,
    USERPROFILE: workspaceRoot,
    SystemRoot: systemRoot,
    TEMP: temporary,
    TMP: temporary,
  };
}
