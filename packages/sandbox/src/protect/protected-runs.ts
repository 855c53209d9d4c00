import { join } from 'node:path';
import type { PlannedCommand } from '../bind/create-binder.ts';
import type { SandboxCommand } from '../command.ts';
import type { LaunchPlan } from '../launch-plan.ts';
import { nextTurn } from '../next-turn.ts';
import type { Planned, Planner, Planning, PlanOptions } from '../plan-command.ts';
import type { PrepareWarm } from '../pool/shelves.ts';
import type { SandboxProfile } from '../profile.ts';
import type { RunResult } from '../run-result.ts';
import type { HostSurvey } from '../survey/host-survey.ts';
import { isAtOrBelow } from '../survey/survey-files.ts';
import { stateOf } from './anchored-files.ts';
import type { ProtectedPlace, Protection, Watch } from './create-protection.ts';
import { refuseProtectedRoots } from './protected-roots.ts';
import { uncheckedIn } from './put-back.ts';
import { createTurns } from './take-turns.ts';

/** `started` is to be called when the sandbox is as planned, before the command's first instruction. */
export type StartJob = (planned: Planned, started: () => void) => Promise<RunResult>;

export interface WarmJob extends PlanOptions {
  readonly start: Parameters<PrepareWarm>[0];
}

export interface WatchedJob extends PlanOptions {
  readonly start: StartJob;
  readonly signal: AbortSignal | undefined;
}

/** Runs between a look before and a look after. */
export interface ProtectedRuns {
  plan(command: SandboxCommand, profile: SandboxProfile, options?: PlanOptions): Planning;
  run(command: SandboxCommand, profile: SandboxProfile, job: WatchedJob): Promise<RunResult>;
  /** Makes a sandbox for a command that is not there yet. Nothing runs in it, so there is nothing to look at afterwards. */
  prepare(command: SandboxCommand, profile: SandboxProfile, warm: WarmJob): ReturnType<PrepareWarm>;
}

export interface ProtectedRunsDeps {
  readonly planner: Planner;
  readonly protection: Protection;
  /** Ends what a launcher left that died. False when that cannot be told. */
  endLost(plan: LaunchPlan): Promise<boolean>;
}

export function createProtectedRuns({ planner, protection, endLost }: ProtectedRunsDeps): ProtectedRuns {
  const turns = createTurns();
  const survey: Planner['survey'] = (command, profile, options) => {
    const surveyed = planner.survey(command, profile, options);
    if (surveyed.kind === 'refused') return surveyed;
    return refuseProtectedRoots(writableIn(profile, surveyed.survey), profile.protection?.lifted ?? []) ?? surveyed;
  };

  async function runWatched(
    { command, profile, survey: surveyed }: PlannedCommand,
    watch: Watch,
    start: StartJob,
  ): Promise<RunResult> {
    let isEnded = false;
    try {
      // Each part in a turn of its own: together they would hold up everything else for a millisecond and more.
      await nextTurn();
      const planned = planner.planSurveyed(command, profile, { ...surveyed, protection: watch.mounts });
      if (planned.kind === 'refused') return planned;
      await nextTurn();
      const result = await start(planned, watch.started);
      if (!('facts' in result)) return result;
      // SECURITY: T-16 — its keeper may still be killing: what is written after the look would stay.
      const isOver = result.kind !== 'lost' || (await endLost(planned.plan));
      isEnded = true;
      const place = placeOf(profile, surveyed);
      await nextTurn();
      // SECURITY: T-15, T-45 — before anybody hears that it is over, and may use what it left.
      const changes = await watch.end().catch(() => [uncheckedIn(place.roots)]);
      return { ...result, protectedChanged: isOver ? changes : [...changes, uncheckedIn(place.roots)] };
    } finally {
      if (!isEnded) watch.release();
    }
  }

  return {
    plan(command, profile, options) {
      const surveyed = survey(command, profile, options);
      if (surveyed.kind === 'refused') return surveyed;
      const mounts = protection.plan(placeOf(profile, surveyed.survey));
      return planner.planSurveyed(command, profile, { ...surveyed.survey, protection: mounts });
    },
    async run(command, profile, { start, signal, ...options }) {
      const surveyed = survey(command, profile, options);
      if (surveyed.kind === 'refused') return surveyed;
      const place = placeOf(profile, surveyed.survey);
      // A job whose signal is aborted starts nothing, and says that it was cancelled.
      const cancelled = async () => {
        const planned = planner.planSurveyed(command, profile, surveyed.survey);
        return planned.kind === 'refused' ? planned : start(planned, () => undefined);
      };
      const isCancelled = () => signal?.aborted === true;
      if (isCancelled()) return cancelled();
      await nextTurn();
      const leave = await turns.enter(place, signal).catch(() => undefined);
      if (leave === undefined) return isCancelled() ? cancelled() : busy();
      try {
        const lasting = { lastsMs: profile.limits.wallMs, ...(signal === undefined ? {} : { signal }) };
        const watch = await protection.begin(place, lasting).catch(() => undefined);
        if (watch === undefined) return isCancelled() ? await cancelled() : notLookedAt();
        return await runWatched({ command, profile, survey: surveyed.survey }, watch, start);
      } finally {
        leave();
      }
    },
    async prepare(command, profile, { start, ...options }) {
      const surveyed = survey(command, profile, options);
      if (surveyed.kind === 'refused') return undefined;
      // SECURITY: T-44 — like any other that mounts: commands that could rename what it mounts wait until it has.
      const place = placeOf(profile, surveyed.survey);
      const watch = await protection.begin(place, { isPrepared: true }).catch(() => undefined);
      if (watch === undefined) return undefined;
      try {
        // A mount point that is made for one run is gone after it, and the mount with it.
        if (watch.isTemporary) return undefined;
        const planned = planner.planSurveyed(command, profile, { ...surveyed.survey, protection: watch.mounts });
        return planned.kind === 'refused' ? undefined : await start(planned.plan);
      } finally {
        watch.release();
      }
    },
  };
}

/** SECURITY: T-20 — nothing runs when it is not known what it may change. */
function notLookedAt(): RunResult {
  const message = 'Protected paths of the workspace could not be looked at, or not be noted.';
  return {
    kind: 'failed_to_start',
    code: 'sandbox.start_failed',
    message,
    fix: 'Look whether the workspace can be read, and Palyra’s home be written.',
  };
}

function busy(): RunResult {
  return {
    kind: 'refused',
    code: 'sandbox.workspace_busy',
    message: 'The command may write protected paths, and others run in the same directory.',
    fix: 'Run it when they are over, or end them.',
  };
}

/** Files too. */
function writableIn(profile: SandboxProfile, { workspace, paths }: HostSurvey): readonly string[] {
  return [...(profile.workspace.access === 'read-write' ? [workspace.root] : []), ...paths.writable];
}

function placeOf(profile: SandboxProfile, { workspace, paths }: HostSurvey): ProtectedPlace {
  const isWritable = profile.workspace.access === 'read-write';
  const own = isWritable ? [workspace.root, ...workspace.gitDirectories] : [];
  const directories = paths.writable.filter((path) => stateOf(path)?.kind === 'directory');
  const all = [...new Set([...own, ...directories])];
  return {
    roots: all.filter((path) => !all.some((other) => other !== path && isAtOrBelow(path, other))),
    gitDirectories: isWritable ? [join(workspace.root, '.git'), ...workspace.gitDirectories] : [],
    lifted: profile.protection?.lifted ?? [],
    mounts: profile.tier === 'C',
  };
}
