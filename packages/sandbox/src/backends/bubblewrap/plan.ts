import type { SandboxCommand } from '../../command.ts';
import type { ExpectedMount } from '../../facts/expected-facts.ts';
import { type LaunchPlan, STAGING, type StagedMount } from '../../launch-plan.ts';
import type { Limits, SandboxProfile } from '../../profile.ts';
import type { ProtectionMount } from '../../protect/plan-protection.ts';
import { seccompProgram } from '../../seccomp/filter.ts';
import type { HostSurvey } from '../../survey/host-survey.ts';
import { AUTHORITY_DEFAULTS, PROXY_DEFAULTS, PROXY_VARIABLES, toolEnvironment } from '../../tool-environment.ts';
import { toolRlimits } from '../../tool-rlimits.ts';
import { BOX_USER } from './box-files.ts';
import { type CopiedFile, copiedFiles, firstFreeFd } from './copied-files.ts';
import { homeData, homeMounts } from './home-mounts.ts';
import {
  type Access,
  bind,
  file,
  fileOver,
  type HandOver,
  type PlannedMount,
  tmpfs,
  withMountsInside,
} from './planned-mounts.ts';

export const BUBBLEWRAP_EXECUTOR = 'sandbox_tier_c_linux_bubblewrap';

/** Descriptors as `native/request.h` has them: ours first, then data. */
const STAGE_PROGRAM = '/proc/self/fd/5';
const SECCOMP_FD = 10;

/** The box, from command and profile alone: same in, same out. */
export function planBubblewrap(
  command: SandboxCommand,
  profile: SandboxProfile,
  survey: HostSurvey & { readonly bubblewrap: string },
): LaunchPlan {
  const { limits } = profile;
  const files = copiedFiles(survey);
  const { mounts, staged } = layOut(profile, survey, files);
  const rlimits = toolRlimits({
    limits,
    memory: survey.cgroups.facts.memory,
    otherTasks: OWN_TASKS,
    ceilings: survey.ceilings,
  });
  const { plans: cgroups, cpuCounter } = survey.cgroups;
  const hasWayOut = survey.wayOut === true;
  const terminalMounts: readonly ExpectedMount[] =
    command.terminal === undefined ? [] : [{ at: '/dev/console', writable: true }];
  return {
    executor: BUBBLEWRAP_EXECUTOR,
    enforcement: { fileSystem: 'isolated', network: profile.egress.mode === 'strict' ? 'isolated' : 'open' },
    wrapper: [survey.bubblewrap, ...ISOLATION, ...mounts.flatMap(({ args }) => args), STAGE_PROGRAM, 'stage'],
    tool: {
      path: survey.program,
      argv: command.argv,
      environment: toolEnvironment(command, profile, {
        ours: { ...boxEnvironment(survey), ...(hasWayOut ? PROXY_VARIABLES : {}) },
        defaults: {
          ...IN_THE_BOX,
          ...(hasWayOut ? PROXY_DEFAULTS : OFFLINE),
          ...(survey.trusted === undefined ? {} : AUTHORITY_DEFAULTS),
        },
      }),
      cwd: command.cwd ?? survey.workspace.root,
      terminal: command.terminal,
    },
    identity: survey.identity,
    staged,
    rlimits,
    tmpfs: ['/tmp', '/dev/shm', BOX_USER.home],
    cgroups,
    data: [
      { fd: SECCOMP_FD, bytes: seccompProgram({ arch: survey.arch, unixSockets: profile.unixSockets }) },
      ...files.map(({ fd, bytes }) => ({ fd, bytes })),
      ...homeData(survey, firstFreeFd(files)),
    ],
    filter: undefined,
    landlock: undefined,
    listener: hasWayOut,
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
      namespaces: ['user', 'mnt', 'pid', 'net', 'ipc', 'uts', 'cgroup'],
      seccomp: true,
      noCapabilities: true,
      isolatedNetwork: true,
      rlimits,
      mounts: [...mounts.flatMap(({ expected }) => expected), ...terminalMounts],
      cgroups: cgroups.map(({ directory, settings }) => ({ directory, settings })),
      landlock: false,
      listener: hasWayOut,
      bound: [...survey.bound, ...(survey.placed?.inPlace ?? [])],
    },
  };
}

/** Bubblewrap's init counts as a process of the box. */
const OWN_TASKS = 1;

/** SECURITY: T-18, T-07 — each namespace by name, for `--unshare-all` goes on without those that it cannot have. */
const ISOLATION: readonly string[] = [
  '--unshare-user',
  '--unshare-ipc',
  '--unshare-pid',
  '--unshare-net',
  '--unshare-uts',
  '--unshare-cgroup',
  // SECURITY: T-18 — a nested user namespace would give every capability back.
  '--disable-userns',
  '--die-with-parent',
  // SECURITY: T-07 — or the tool can type into the operator's terminal (TIOCSTI).
  '--new-session',
  // SECURITY: T-18 — bubblewrap drops them unasked, but where it is root, of the host or of a container: there it keeps all.
  '--cap-drop',
  'ALL',
  '--hostname',
  'palyra',
  '--uid',
  String(BOX_USER.uid),
  '--gid',
  String(BOX_USER.gid),
  // SECURITY: T-43 — bubblewrap applies it to its own init as well, so there is no unfiltered neighbour to take over.
  '--seccomp',
  String(SECCOMP_FD),
];

interface Layout {
  readonly mounts: readonly PlannedMount[];
  readonly staged: readonly StagedMount[];
}

/** In this order: what comes later lies on top. */
function layOut(profile: SandboxProfile, survey: HostSurvey, files: readonly CopiedFile[]): Layout {
  const { workspace, toolchains } = survey;
  const writable = profile.workspace.access === 'read-write';
  const handOver = createHandOver(survey);
  const directories = survey.systemFiles.filter(({ kind }) => kind === 'mount');
  const workspaces = [workspace.root, ...workspace.gitDirectories];
  const mounts = [
    ...survey.systemRoots.map(systemRoot),
    ...kernelFiles(profile.limits, survey),
    tmpfs('/tmp', '1777', profile.limits),
    tmpfs(BOX_USER.home, '0700', profile.limits),
    ...files.filter(({ isOver }) => !isOver).map(file),
    ...homeMounts(survey, { limits: profile.limits, handOver, firstFd: firstFreeFd(files) }),
    ...(survey.placed?.links ?? []).map(({ at, target }) => ({ args: ['--symlink', target, at], expected: [] })),
    ...directories.map(({ path }) => bind(path, path, { writable: false })),
    ...files.filter(({ isOver }) => isOver).map(fileOver),
    ...outermost(toolchains.readOnly)
      // It is shown with what it lies in, which is mounted later and would cover it.
      .filter((path) => !survey.paths.readOnly.some((other) => path === other || path.startsWith(`${other}/`)))
      .map((path) => bind(handOver(path, { writable: false }), path, { writable: false })),
    ...survey.paths.writable.map((path) => bind(handOver(path, { writable: true }), path, { writable: true })),
    ...workspaces.map((path) => bind(handOver(path, { writable, isWorkspace: true }), path, { writable })),
    ...(survey.protection ?? []).map((mount) => protect(mount, handOver)),
    // After it, for one may lie in it.
    ...survey.paths.readOnly.map((path) => bind(handOver(path, { writable: false }), path, { writable: false })),
    ...survey.masked.map(({ path, kind }) => mask(path, kind)),
    READ_ONLY_ROOT,
  ];
  const { hostMounts = [] } = survey;
  return { mounts: mounts.map((mount) => withMountsInside(mount, hostMounts)), staged: handOver.staged };
}

/** Where bubblewrap finds a path: at its own place, or, if the tool's user could not reach it, where root has put it. */
function createHandOver({ outOfReach, idmapWorkspace }: HostSurvey): HandOver {
  const staged: StagedMount[] = [];
  const handOver = (path: string, { writable, isWorkspace }: Access) => {
    const idmap = idmapWorkspace && (writable || isWorkspace === true);
    if (!idmap && !outOfReach.has(path)) return path;
    const known = staged.find(({ source }) => source === path);
    if (known !== undefined) return `${STAGING}/${known.name}`;
    const name = String(staged.length);
    staged.push({ name, source: path, readOnly: !writable, idmap });
    return `${STAGING}/${name}`;
  };
  return Object.assign(handOver, { staged });
}

function systemRoot(root: HostSurvey['systemRoots'][number]): PlannedMount {
  return root.kind === 'link'
    ? { args: ['--symlink', root.target, root.path], expected: [] }
    : bind(root.path, root.path, { writable: false });
}

// SECURITY: T-15, T-44 — from the same source as what it lies in, which the tool's user can reach.
function protect({ path, root, writable }: ProtectionMount, handOver: HandOver): PlannedMount {
  const source = `${handOver(root, { writable: true })}${path.slice(root.length)}`;
  return { ...bind(source, path, { writable }), expected: [{ at: path, writable, within: root }] };
}

const DEVICES = ['null', 'zero', 'full', 'random', 'urandom', 'tty'] as const;

function kernelFiles(limits: Limits, { hasSysrq }: HostSurvey): readonly PlannedMount[] {
  return [
    { args: ['--proc', '/proc'], expected: [{ at: '/proc', writable: true }] },
    // SECURITY: T-18, T-42 — for a uid that turns out to be powerful after all, these are the first doors.
    bind('/proc/sys', '/proc/sys', { writable: false }),
    ...(hasSysrq ? [bind('/dev/null', '/proc/sysrq-trigger', { writable: false })] : []),
    {
      args: ['--dev', '/dev'],
      expected: [
        { at: '/dev', writable: false },
        { at: '/dev/pts', writable: true },
        ...DEVICES.map((name) => ({ at: `/dev/${name}`, writable: true })),
      ],
    },
    tmpfs('/dev/shm', '1777', limits),
    // SECURITY: T-17 — bubblewrap's /dev is a tmpfs without a size.
    { args: ['--remount-ro', '/dev'], expected: [] },
  ];
}

function mask(path: string, kind: 'file' | 'directory'): PlannedMount {
  const args =
    kind === 'file'
      ? ['--ro-bind', '/dev/null', path]
      : ['--perms', '0000', '--size', '4096', '--tmpfs', path, '--remount-ro', path];
  return { args, expected: [{ at: path, writable: false }] };
}

/** The box's root is a tmpfs without a size, and nothing belongs there but mount points. */
const READ_ONLY_ROOT: PlannedMount = { args: ['--remount-ro', '/'], expected: [{ at: '/', writable: false }] };

/** What lies in another one is there already. */
function outermost(paths: readonly string[]): readonly string[] {
  const isInside = (path: string) => paths.some((other) => other !== path && path.startsWith(`${other}/`));
  return [...new Set(paths)].filter((path) => !isInside(path));
}

/** LeakSanitizer needs ptrace, which is refused. */
const IN_THE_BOX: Readonly<Record<string, string>> = { ASAN_OPTIONS: 'detect_leaks=0' };

/** There is no network, so nothing is gained by trying again for a minute. */
const OFFLINE: Readonly<Record<string, string>> = {
  npm_config_fetch_retries: '0',
  PIP_RETRIES: '0',
  CARGO_NET_RETRY: '0',
};

function boxEnvironment({ toolchains }: HostSurvey): Readonly<Record<string, string>> {
  return {
    ...toolchains.environment,
    PATH: toolchains.path,
    HOME: BOX_USER.home,
    USER: BOX_USER.name,
    LOGNAME: BOX_USER.name,
    SHELL: '/bin/sh',
    TMPDIR: '/tmp',
  };
}
