import type { SandboxCommand } from '../../command.ts';
import type { LaunchPlan } from '../../launch-plan.ts';
import type { SandboxProfile } from '../../profile.ts';
import { seccompProgram } from '../../seccomp/filter.ts';
import type { HostSurvey } from '../../survey/host-survey.ts';
import { toolEnvironment } from '../../tool-environment.ts';
import { GIT_SETTINGS } from '../../tool-git-settings.ts';
import { toolRlimits } from '../../tool-rlimits.ts';

export const LIMITS_EXECUTOR = 'sandbox_tier_b';

/**
 * Limits, not a wall: the tool sees the host's files, network and processes as its user does. What Landlock takes away
 * is our own state, credentials, and the means to reach into other processes.
 */
export function planLimits(command: SandboxCommand, profile: SandboxProfile, survey: HostSurvey): LaunchPlan {
  const { limits } = profile;
  const { plans: cgroups, facts, cpuCounter } = survey.cgroups;
  // A user's limit counts all of its processes, wherever they came from.
  const otherTasks = facts.processes === 'tree' || survey.identity === undefined ? survey.tasksOnHost : 0;
  const rlimits = toolRlimits({ limits, memory: facts.memory, otherTasks, ceilings: survey.ceilings });
  const { root } = survey.workspace;
  const readOnly = profile.workspace.access === 'read-only';
  return {
    executor: LIMITS_EXECUTOR,
    enforcement: { fileSystem: 'host', network: 'host' },
    wrapper: undefined,
    tool: {
      path: survey.program,
      argv: command.argv,
      environment: toolEnvironment(command, profile, {
        ours: {
          ...survey.toolchains.environment,
          PATH: survey.toolchains.path,
          ...(profile.interpreters === 'refused' ? WITHOUT_SETTINGS : { HOME: root }),
          TMPDIR: '/tmp',
          SHELL: '/bin/sh',
        },
        defaults: {},
      }),
      cwd: command.cwd ?? root,
      terminal: command.terminal,
    },
    identity: survey.identity,
    staged: survey.idmapWorkspace ? [{ name: 'workspace', source: root, readOnly, idmap: true }] : [],
    rlimits,
    tmpfs: [],
    cgroups,
    data: [],
    filter: seccompProgram({ arch: survey.arch, tier: 'B', unixSockets: profile.unixSockets }),
    landlock: survey.landlock,
    listener: false,
    watch: {
      wallMs: limits.wallMs,
      idleMs: limits.idleMs,
      outputBytes: limits.outputBytes,
      treeCpuMs: cpuCounter === undefined ? undefined : limits.cpuMs,
      cpuCounter,
    },
    expected: {
      identity: survey.identity,
      noGroups: survey.identity !== undefined,
      namespaces: [],
      seccomp: true,
      noCapabilities: true,
      isolatedNetwork: false,
      rlimits,
      mounts: undefined,
      cgroups: cgroups.map(({ directory, settings }) => ({ directory, settings })),
      landlock: survey.landlock !== undefined,
      listener: false,
      bound: [...survey.bound.filter(({ path }) => path === root), ...(survey.placed?.inPlace ?? [])],
    },
  };
}

/**
 * SECURITY: T-12, T-13 — settings in the workspace are the agent's, and name programs and files: no home there for `.curlrc`
 * and `.wgetrc`, and of a repository's configuration none of what git would start.
 * With what cannot be told git otherwise, it is refused before (`guard/git-programs.ts`).
 */
const WITHOUT_SETTINGS: Readonly<Record<string, string>> = {
  HOME: '/nonexistent',
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_CONFIG_GLOBAL: '/dev/null',
  ...gitSettings(GIT_SETTINGS),
};

/** As git takes them from the environment: they win over the repository's. */
function gitSettings(settings: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  const pairs = Object.entries(settings).flatMap(([key, value], at) => [
    [`GIT_CONFIG_KEY_${at}`, key],
    [`GIT_CONFIG_VALUE_${at}`, value],
  ]);
  return Object.fromEntries([['GIT_CONFIG_COUNT', String(Object.keys(settings).length)], ...pairs]);
}
