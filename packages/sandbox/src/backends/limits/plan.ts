import type { SandboxCommand } from '../../command.ts';
import type { LaunchPlan } from '../../launch-plan.ts';
import type { SandboxProfile } from '../../profile.ts';
import { seccompProgram } from '../../seccomp/filter.ts';
import type { HostSurvey } from '../../survey/host-survey.ts';
import { toolEnvironment } from '../../tool-environment.ts';
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
    wrapper: undefined,
    tool: {
      path: survey.program,
      argv: command.argv,
      environment: toolEnvironment(command, profile, {
        ...survey.toolchains.environment,
        PATH: survey.toolchains.path,
        HOME: root,
        TMPDIR: '/tmp',
        SHELL: '/bin/sh',
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
    filter: seccompProgram({ arch: survey.arch, tier: 'B', unixSockets: 'allowed' }),
    landlock: survey.landlock,
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
    },
  };
}
