import type { Sandbox, SandboxOptions } from '@palyra/sandbox';
import { createBinder } from '../../../packages/sandbox/src/bind/create-binder.ts';
import { hostCgroupFiles } from '../../../packages/sandbox/src/cgroup/cgroup-files.ts';
import { type CgroupDriver, detectCgroups } from '../../../packages/sandbox/src/cgroup/detect-cgroups.ts';
import { prepareCgroups } from '../../../packages/sandbox/src/cgroup/prepare-cgroups.ts';
import { startLauncher } from '../../../packages/sandbox/src/launcher/start-launcher.ts';
import { createPlanner, rememberFiles } from '../../../packages/sandbox/src/plan-command.ts';
import { hostStampFiles } from '../../../packages/sandbox/src/pool/stamp-files.ts';
import { runJob } from '../../../packages/sandbox/src/run-job.ts';
import { hostDirectories } from '../../../packages/sandbox/src/survey/directory-files.ts';
import { hostSurveyFiles } from '../../../packages/sandbox/src/survey/survey-files.ts';
import { createSurveyor } from '../../../packages/sandbox/src/survey/survey-host.ts';

/** A host that lacks something, or whose parts do not do what they say. */
export interface Pretence {
  /** Null: there is none. */
  readonly bubblewrap?: string | null;
  readonly landlockVersion?: number;
  readonly cgroups?: 'none';
}

/** As `createSandbox` puts it together, on such a host. */
export async function createPretendedSandbox(
  { operator, logger, launcherProgram = '' }: SandboxOptions,
  pretence: Pretence,
): Promise<Sandbox> {
  const launcher = await startLauncher({ program: launcherProgram, logger });
  const { bubblewrap = '/usr/bin/bwrap', landlockVersion = launcher.about.landlockVersion } = pretence;
  const changes = hostCgroupFiles();
  const found = prepareCgroups(detectCgroups(changes), changes);
  const none: CgroupDriver = { kind: 'none', reason: 'There is none.', fix: 'Get one.' };
  const cgroups = pretence.cgroups === 'none' ? none : found;
  const about = { ...launcher.about, landlockVersion };
  const surveyor = createSurveyor({
    launcher: about,
    operator,
    cgroups,
    files: hostSurveyFiles,
    directories: hostDirectories,
    now: Date.now,
    groups: process.getgroups?.() ?? [],
  });
  const planner = createPlanner({ surveyor, findBubblewrap: () => bubblewrap ?? undefined });
  const groups = process.getgroups?.() ?? [];
  const binder = createBinder({ launcher: about, groups, files: hostSurveyFiles, programsOn: rememberFiles() });
  return {
    about: { launcher: about, cgroups, bubblewrap: bubblewrap ?? undefined, madeUp: [] },
    openGate: async () => {
      throw new Error('There is no gate on such a host.');
    },
    plan: async (command, profile) => planner.plan(command, profile),
    async bind(command, profile) {
      const planned = planner.plan(command, profile);
      return planned.kind === 'refused' ? planned : binder.bind({ command, profile, survey: planned.survey });
    },
    async run(command, profile, options = {}) {
      const planned = planner.plan(command, profile);
      if (planned.kind === 'refused') return planned;
      const { readText } = hostSurveyFiles;
      const context = { launcher, now: Date.now, cgroupDriver: cgroups.kind, readText, stampFiles: hostStampFiles };
      return runJob(planned.plan, options, context);
    },
    warmed: async () => 0,
    close: () => launcher.close(),
  };
}
