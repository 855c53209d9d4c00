import { expect, test } from 'vitest';
import { DEFAULT_LIMITS, type SandboxProfile } from '../../profile.ts';
import type { HostSurvey } from '../../survey/host-survey.ts';
import { planLimits } from './plan.ts';

const PROFILE: SandboxProfile = {
  tier: 'B',
  workspace: { root: '/work', access: 'read-write' },
  readOnlyPaths: [],
  writablePaths: [],
  maskedPaths: [],
  executables: ['git'],
  interpreters: 'refused',
  egress: { mode: 'none', hosts: [] },
  toolchains: 'none',
  unixSockets: 'allowed',
  limits: DEFAULT_LIMITS,
  mustHold: [],
  environment: [],
  startedFor: 'agent',
};

const SURVEY: HostSurvey = {
  arch: 'x86_64',
  identity: undefined,
  idmapWorkspace: false,
  workspace: { root: '/work', gitDirectories: [] },
  paths: { readOnly: [], writable: [] },
  bound: [{ path: '/work', identity: '1 2' }],
  systemRoots: [],
  hasSysrq: false,
  systemFiles: [],
  toolchains: { path: '/usr/bin', readOnly: [], environment: {} },
  masked: [],
  outOfReach: new Set(),
  program: '/usr/bin/git',
  cgroups: {
    plans: [],
    facts: { driver: 'none', memory: 'per_process', processes: 'per_user', cpu: 'per_process' },
    cpuCounter: undefined,
  },
  landlock: { rules: [{ path: '/usr', access: 'write' }], stamp: '1' },
  tasksOnHost: 300,
  ceilings: {},
};

const plan = (survey: Partial<HostSurvey> = {}) =>
  planLimits({ argv: ['git', 'status'] }, PROFILE, { ...SURVEY, ...survey });
const nproc = (survey: Partial<HostSurvey>) => plan(survey).rlimits.find(({ name }) => name === 'nproc')?.soft;

test('there is no wrapper, and the facts must show Landlock, no capabilities and nothing of a box', () => {
  expect(plan()).toMatchObject({
    executor: 'sandbox_tier_b',
    wrapper: undefined,
    data: [],
    landlock: { rules: [{ path: '/usr', access: 'write' }] },
    expected: {
      namespaces: [],
      seccomp: true,
      noCapabilities: true,
      isolatedNetwork: false,
      mounts: undefined,
      landlock: true,
    },
  });
});

test('a limit that counts all processes of a user leaves room for those that are there', () => {
  expect(nproc({})).toBe(812);
  expect(nproc({ identity: { uid: 870_000, gid: 870_000 } })).toBe(512);
});

test("root's workspace is mapped over itself", () => {
  const identity = { uid: 870_000, gid: 870_000 };
  expect(plan({ identity, idmapWorkspace: true }).staged).toEqual([
    { name: 'workspace', source: '/work', readOnly: false, idmap: true },
  ]);
});
