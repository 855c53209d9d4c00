import { planBubblewrap } from './backends/bubblewrap/plan.ts';
import { planLimits } from './backends/limits/plan.ts';
import type { PlannedCommand } from './bind/create-binder.ts';
import { refuseEgress, refuseMalformed } from './check-profile.ts';
import type { SandboxCommand } from './command.ts';
import { checkCommand } from './guard/check-command.ts';
import { environmentRunsCode } from './guard/environment-code.ts';
import { createProgramFiles, type ProgramFiles } from './guard/program-files.ts';
import type { LaunchPlan } from './launch-plan.ts';
import type { SandboxProfile } from './profile.ts';
import type { Refusal } from './run-result.ts';
import type { HostSurvey } from './survey/host-survey.ts';
import { hostSurveyFiles } from './survey/survey-files.ts';
import type { HostSurveyor, SurveyOutcome } from './survey/survey-host.ts';
import { isOneAuthority, trustAuthority } from './survey/trusted-authority.ts';

export interface Planned {
  readonly kind: 'planned';
  readonly plan: LaunchPlan;
  readonly survey: HostSurvey;
}

export type Planning = Planned | Refusal;

export interface PlanOptions {
  /** It will be run with a way out. What names hosts, or is not restricted at all, is refused without one. */
  readonly wayOut?: boolean;
  /** PEM of the one authority that is trusted in this box and nowhere else; Tier C with a way out only. */
  readonly authority?: string;
}

export interface Planner {
  /** Everything that can be said without starting anything. Does not throw. */
  plan(command: SandboxCommand, profile: SandboxProfile, options?: PlanOptions): Planning;
  /** Of what was planned before, when it is known which bytes shall run. */
  layOut(planned: PlannedCommand): LaunchPlan;
  survey(command: SandboxCommand, profile: SandboxProfile, options?: PlanOptions): SurveyOutcome;
  /** The rest of `plan`, from a survey to which something was added. */
  planSurveyed(command: SandboxCommand, profile: SandboxProfile, survey: HostSurvey): Planning;
}

export interface PlannerDeps {
  readonly surveyor: HostSurveyor;
  /** Undefined where there is none: then Tier C is refused. Asked until there is one, for it may be installed meanwhile. */
  findBubblewrap(): string | undefined;
}

export function createPlanner({ surveyor, findBubblewrap }: PlannerDeps): Planner {
  const filesFor = rememberFiles();
  let bubblewrap: string | undefined;
  const layOut = ({ command, profile, survey }: PlannedCommand) =>
    profile.tier === 'C' && bubblewrap !== undefined
      ? planBubblewrap(command, profile, { ...survey, bubblewrap })
      : planLimits(command, withoutCode(profile), survey);
  const planner: Planner = {
    layOut,
    plan(command, profile, options) {
      const surveyed = planner.survey(command, profile, options);
      return surveyed.kind === 'refused' ? surveyed : planner.planSurveyed(command, profile, surveyed.survey);
    },
    survey(command, profile, { wayOut = false, authority } = {}) {
      const malformed =
        refuseMalformed(command, profile) ??
        refuseEgress(profile, wayOut ? 'proxied' : 'none') ??
        refuseAuthority(authority);
      if (malformed !== undefined) return malformed;
      // SECURITY: T-20 — no wall, no tool: never the weaker tier instead.
      bubblewrap ??= findBubblewrap();
      if (profile.tier === 'C' && bubblewrap === undefined) return noBubblewrap();

      const surveyed = surveyor.survey(command, profile);
      if (surveyed.kind === 'refused' || !wayOut) return surveyed;
      const { survey } = surveyed;
      const trusted = authority === undefined ? {} : { trusted: trusting(authority, survey) };
      return { ...surveyed, survey: { ...survey, wayOut, ...trusted } };
    },
    planSurveyed(command, profile, survey) {
      const guarded = guard(command, profile, { survey, files: filesFor(survey.toolchains.path) });
      if (guarded !== undefined) return guarded;
      return { kind: 'planned', plan: layOut({ command, profile, survey }), survey };
    },
  };
  return planner;
}

function trusting(authority: string, { systemFiles }: HostSurvey): HostSurvey['trusted'] & {} {
  return trustAuthority(authority, systemFiles, hostSurveyFiles);
}

function refuseAuthority(pem: string | undefined): Refusal | undefined {
  if (pem === undefined || isOneAuthority(pem)) return undefined;
  return {
    kind: 'refused',
    code: 'sandbox.invalid_command',
    message: 'The authority of a way out is not one certificate in PEM.',
    fix: 'This is a fault of the program that asked for it.',
  };
}

interface GuardContext {
  readonly survey: HostSurvey;
  readonly files: ProgramFiles;
}

function guard(command: SandboxCommand, profile: SandboxProfile, { survey, files }: GuardContext): Refusal | undefined {
  const isOpen = profile.executables === 'any' && profile.interpreters === 'allowed';
  // In Tier C the kernel is the wall: what a command line looks like matters only where the profile says so.
  if (profile.tier === 'C' && isOpen) return undefined;
  const checked = checkCommand({
    command,
    profile,
    programPath: survey.program,
    files,
    toolchainPaths: survey.toolchains.readOnly,
  });
  return checked.kind === 'ok' ? undefined : checked;
}

/** SECURITY: T-13 — a variable that names code is as good as an argument that does. */
function withoutCode(profile: SandboxProfile): SandboxProfile {
  if (profile.interpreters === 'allowed') return profile;
  return { ...profile, environment: profile.environment.filter((name) => !environmentRunsCode(name)) };
}

/** One for each search path. */
export function rememberFiles(): (path: string) => ProgramFiles {
  const known = new Map<string, ProgramFiles>();
  return (path) => {
    const files = known.get(path) ?? createProgramFiles(path.split(':'));
    known.set(path, files);
    return files;
  };
}

function noBubblewrap(): Refusal {
  return {
    kind: 'refused',
    code: 'sandbox.unsupported',
    message: 'Tier C needs bubblewrap, and there is none.',
    fix: 'apt-get install bubblewrap (or your distribution’s package of that name).',
  };
}
