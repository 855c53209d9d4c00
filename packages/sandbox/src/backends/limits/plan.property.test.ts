import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { SandboxCommand } from '../../command.ts';
import { DEFAULT_LIMITS, type Limits, type SandboxProfile } from '../../profile.ts';
import { CREDENTIAL_PATHS } from '../../survey/credential-paths.ts';
import type { HostSurvey } from '../../survey/host-survey.ts';
import { rememberLandlock } from '../../survey/remembered.ts';
import type { SurveyDeps } from '../../survey/survey-host.ts';
import { planLimits } from './plan.ts';

const WORK = '/home/ada/src/app';
/** The operator's, and those of the user that the tool is. */
const HOMES = ['/home/ada', '/home/eve'];
const SECRET = ['/home/ada/.palyra', ...HOMES.flatMap((home) => CREDENTIAL_PATHS.map((path) => `${home}/${path}`))];
const PLACES = ['/usr/bin', '/tmp', '/dev/pts', '/home/ada/.config/nvim', '/home/eve/x', WORK, ...SECRET];

/** As if everything were there. */
const landlockFor = rememberLandlock({
  operator: { path: '', home: '/home/ada', palyraHome: '/home/ada/.palyra', environment: {} },
  launcher: { landlockVersion: 6 },
  files: { realPath: (path: string) => path, readBytes: () => Buffer.from('eve:x:1000:1000::/home/eve:/bin/sh') },
  directories: {
    list(directory: string) {
      const start = directory === '/' ? '/' : `${directory}/`;
      const names = PLACES.filter((path) => path.startsWith(start)).map(
        (path) => path.slice(start.length).split('/')[0],
      );
      return [...new Set(names)].map((name) => ({ name, isLink: false }));
    },
    stamp: () => '1',
  },
} as unknown as SurveyDeps);

interface Case {
  readonly command: SandboxCommand;
  readonly profile: SandboxProfile;
  readonly survey: HostSurvey;
}

const anyText = fc.oneof(fc.string(), fc.constantFrom('', '; id', '$(id)', '`id`', '-c', '"', "'", '\n', '&& id', '*'));
const anyName = fc.oneof(
  fc.stringMatching(/^[A-Z_]{1,8}$/),
  fc.constantFrom('PATH', 'HOME', 'LD_PRELOAD', 'SSH_AUTH_SOCK', 'GIT_CONFIG_COUNT', '__proto__', 'constructor'),
);
const anyCommand: fc.Arbitrary<SandboxCommand> = fc.record({
  argv: fc.array(anyText, { minLength: 1, maxLength: 6 }),
  environment: fc.dictionary(anyName, anyText, { maxKeys: 8 }),
  cwd: fc.constantFrom(WORK, '/tmp', '/'),
});
const anyLimits = fc.record(
  Object.fromEntries(Object.keys(DEFAULT_LIMITS).map((name) => [name, fc.integer({ min: 1, max: 2 ** 40 })])),
) as unknown as fc.Arbitrary<Limits>;
const anyProfile: fc.Arbitrary<SandboxProfile> = fc.record({
  tier: fc.constant('B'),
  workspace: fc.record({ root: fc.constant(WORK), access: fc.constantFrom('read-write', 'read-only') }),
  readOnlyPaths: fc.subarray(['/home/eve', '/home/ada/.config']),
  writablePaths: fc.subarray(['/home/eve', '/home/ada', '/']),
  maskedPaths: fc.subarray(['/home/eve/x']),
  executables: fc.constantFrom<SandboxProfile['executables']>('any', ['git']),
  interpreters: fc.constantFrom('allowed', 'refused'),
  egress: fc.constant({ mode: 'none', hosts: [] }),
  toolchains: fc.constantFrom('none', 'operator'),
  unixSockets: fc.constantFrom('allowed', 'refused'),
  limits: anyLimits,
  mustHold: fc.constant([]),
  environment: fc.uniqueArray(anyName, { maxLength: 6 }),
  startedFor: fc.constantFrom('agent', 'operator'),
});
const anySurvey: fc.Arbitrary<HostSurvey> = fc.record({
  arch: fc.constantFrom('x86_64', 'arm64'),
  identity: fc.option(fc.constant({ uid: 870_000, gid: 870_000 }), { nil: undefined }),
  idmapWorkspace: fc.boolean(),
  workspace: fc.constant({ root: WORK, gitDirectories: [] }),
  paths: fc.constant({ readOnly: [], writable: [] }),
  bound: fc.constant([]),
  systemRoots: fc.constant([]),
  hasSysrq: fc.boolean(),
  systemFiles: fc.constant([]),
  toolchains: fc.constant({ path: '/usr/bin', readOnly: [], environment: { RUSTUP_HOME: '/opt/rustup' } }),
  masked: fc.constant([]),
  outOfReach: fc.constant(new Set<string>()),
  program: fc.constantFrom('/usr/bin/git', '/usr/bin/sh'),
  cgroups: fc.record({
    plans: fc.constant([]),
    facts: fc.record({
      driver: fc.constant('none'),
      memory: fc.constantFrom('tree', 'per_process'),
      processes: fc.constantFrom('tree', 'per_user'),
      cpu: fc.constantFrom('tree', 'per_process'),
    }),
    cpuCounter: fc.option(fc.constant('/sys/fs/cgroup/x/cpu.stat'), { nil: undefined }),
  }),
  landlock: fc.constant(undefined),
  tasksOnHost: fc.nat(10_000),
  ceilings: fc.dictionary(fc.constantFrom('nofile', 'nproc', 'fsize', 'cpu', 'data'), fc.nat(2 ** 30)),
});

const anyCase: fc.Arbitrary<Case> = fc
  .record({ command: anyCommand, profile: anyProfile, survey: anySurvey })
  .map(({ command, profile, survey }) => ({
    command,
    profile,
    survey: { ...survey, landlock: landlockFor(profile, WORK, 1000) },
  }));

const everyPlan = (holds: (plan: ReturnType<typeof planLimits>, drawn: Case) => void) =>
  fc.assert(fc.property(anyCase, (drawn) => holds(planLimits(drawn.command, drawn.profile, drawn.survey), drawn)));

test('the same command, profile and host are the same plan, and none of them is changed', () => {
  const isPure = ({ command, profile, survey }: Case) => {
    const before = structuredClone({ command, profile, survey });
    const plan = planLimits(command, profile, survey);
    expect({ command, profile, survey }).toEqual(before);
    expect(planLimits(before.command, before.profile, before.survey)).toEqual(plan);
  };
  fc.assert(fc.property(anyCase, isPure));
});

test('what was given is what runs: each argument as it is, and nothing between that would read them', () => {
  everyPlan(({ wrapper, tool, data }, { command, survey }) => {
    expect({ wrapper, data, path: tool.path, argv: tool.argv, cwd: tool.cwd }).toEqual({
      wrapper: undefined,
      data: [],
      path: survey.program,
      argv: command.argv,
      cwd: command.cwd,
    });
  });
});

/** What every tool has of ours, whoever calls. */
const OURS = /^(?:LANG|PATH|HOME|TMPDIR|SHELL|RUSTUP_HOME|GIT_CONFIG_(?:NOSYSTEM|GLOBAL|COUNT|(?:KEY|VALUE)_\d))$/;

test('SECURITY: T-19 — a variable is ours, or one that the profile names with the value that was given', () => {
  everyPlan(({ tool }, { command: { environment = {} }, profile }) => {
    const strange = tool.environment.filter((line) => {
      const [name = ''] = line.split('=', 1);
      const isTheirs = profile.environment.includes(name) && Object.hasOwn(environment, name);
      return !OURS.test(name) && !(isTheirs && line === `${name}=${environment[name]}`);
    });
    expect(strange).toEqual([]);
    expect(tool.environment).toContain('PATH=/usr/bin');
  });
});

test('SECURITY: T-40 — nothing that is allowed covers Palyra’s home, credentials or what is masked, whatever the profile says', () => {
  everyPlan(({ landlock, expected }, { profile: { maskedPaths } }) => {
    // Without rules everything is allowed: what every path begins with.
    const allowed = landlock?.rules.map(({ path }) => path) ?? [''];
    const hidden = [...SECRET, ...maskedPaths];
    const reached = hidden.filter((place) => allowed.some((path) => place === path || place.startsWith(`${path}/`)));
    expect(reached).toEqual([]);
    expect(expected.landlock).toBe(true);
  });
});

test('SECURITY: T-17 — no limit is above the profile’s, but for what others of the same user have', () => {
  everyPlan(({ rlimits, watch }, { profile: { limits }, survey }) => {
    const most: Readonly<Record<string, number>> = {
      // Seconds; the last one is between the signal that can be caught and the one that cannot.
      cpu: Math.ceil(limits.cpuMs / 1000) + 1,
      as: Math.max(limits.memoryBytes, 1024 ** 4),
      data: limits.memoryBytes,
      nofile: limits.openFiles,
      fsize: limits.fileBytes,
      nproc: limits.processes + survey.tasksOnHost,
      core: 0,
    };
    const { ceilings } = survey;
    const above = rlimits.filter(
      ({ name, soft, hard }) => !(soft <= hard && hard <= Math.min(most[name] ?? -1, ceilings[name] ?? Infinity)),
    );
    expect(above).toEqual([]);
    const held = rlimits.map(({ name }) => name);
    const memory = survey.cgroups.facts.memory === 'tree' ? [] : ['as', 'data'];
    expect(held).toEqual(expect.arrayContaining(['cpu', 'nofile', 'fsize', 'nproc', 'core', ...memory]));
    const { wallMs, idleMs, outputBytes, cpuMs } = limits;
    expect(watch).toMatchObject({ wallMs, idleMs, outputBytes });
    expect([cpuMs, undefined]).toContain(watch.treeCpuMs);
  });
});

test('SECURITY: T-20 — it never says that it is a wall', () => {
  everyPlan(({ enforcement, expected }) => {
    expect(enforcement).toEqual({ fileSystem: 'host', network: 'host' });
    expect(expected).toMatchObject({ isolatedNetwork: false, noCapabilities: true, seccomp: true });
  });
});
