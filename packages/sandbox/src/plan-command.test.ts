import { expect, test } from 'vitest';
import { createPlanner } from './plan-command.ts';
import { DEFAULT_LIMITS, type SandboxProfile } from './profile.ts';
import type { Refusal } from './run-result.ts';

const PROFILE: SandboxProfile = {
  tier: 'C',
  workspace: { root: '/work', access: 'read-write' },
  readOnlyPaths: [],
  writablePaths: [],
  maskedPaths: [],
  executables: 'any',
  interpreters: 'allowed',
  egress: { mode: 'strict', hosts: [] },
  toolchains: 'none',
  unixSockets: 'refused',
  limits: DEFAULT_LIMITS,
  mustHold: [],
  environment: [],
  startedFor: 'agent',
};

test('SECURITY: T-20 — a bubblewrap that is missing is looked for again: the fix for it needs no other palyrad', () => {
  const surveyed: Refusal = {
    kind: 'refused',
    code: 'sandbox.unsafe_workspace',
    message: 'Far enough.',
    fix: undefined,
  };
  let installed: string | undefined;
  const planner = createPlanner({ surveyor: { survey: () => surveyed }, findBubblewrap: () => installed });
  const plan = () => planner.plan({ argv: ['true'] }, PROFILE);
  expect(plan()).toMatchObject({ code: 'sandbox.unsupported', fix: expect.stringContaining('install bubblewrap') });
  installed = '/usr/bin/bwrap';
  expect(plan()).toBe(surveyed);
});
