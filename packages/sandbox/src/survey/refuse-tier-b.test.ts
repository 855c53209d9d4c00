import { describe, expect, test } from 'vitest';
import type { LandlockPlan } from '../launch-plan.ts';
import { DEFAULT_LIMITS, type SandboxProfile } from '../profile.ts';
import { refuseTierB, type TierBQuestion } from './refuse-tier-b.ts';

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

const OWN_UID: TierBQuestion = {
  profile: PROFILE,
  identity: undefined,
  launcher: { landlockVersion: 6 },
  landlock: rules(1),
  isWorkspaceHidden: false,
  powerfulGroups: [],
};

const OTHER_UID: TierBQuestion = { ...OWN_UID, identity: { uid: 1000, gid: 1000 } };

function rules(length: number): LandlockPlan {
  return { rules: Array.from({ length }, (_, at) => ({ path: `/f${at}`, access: 'read' })), stamp: '1' };
}

function version(landlockVersion: number): Partial<TierBQuestion> {
  return { launcher: { landlockVersion } };
}

function profile(changed: Partial<SandboxProfile>): Partial<TierBQuestion> {
  return { profile: { ...PROFILE, ...changed } };
}

function refused(message: string, fix: string) {
  return { kind: 'refused', code: 'sandbox.unsupported', message, fix };
}

const OWN_USER = 'Use Tier C, or run palyrad as a service with its own user.';

test('what can be kept is not refused', () => {
  expect(refuseTierB(OWN_UID)).toBeUndefined();
  expect(refuseTierB({ ...OTHER_UID, ...version(0), landlock: undefined })).toBeUndefined();
});

test.each([0, 5])(
  'of a launcher that works for one user, an agent’s tool is refused with Landlock %s (T-40)',
  (landlockVersion) => {
    const launcher = { landlockVersion, only: { uid: 1000, gid: 1000 } };
    expect(refuseTierB({ ...OTHER_UID, launcher })).toEqual(
      refused(
        'Without Landlock a Tier B tool could end the process that looks after the workspace.',
        'Use Tier C, or Linux 6.12 and later.',
      ),
    );
    expect(refuseTierB({ ...OTHER_UID, launcher: { ...launcher, landlockVersion: 6 } })).toBeUndefined();
  },
);

describe('an agent’s tool with the operator’s own uid', () => {
  const reachesUs = refused(
    'Without Landlock a Tier B tool with the operator’s uid could reach palyrad itself.',
    OWN_USER,
  );

  test.each([0, 1, 3, 5])('is refused with Landlock %s, which does not keep signals in (T-40)', (landlockVersion) => {
    expect(refuseTierB({ ...OWN_UID, ...version(landlockVersion) })).toEqual(reachesUs);
  });

  test('is refused with groups that can mean root, which it would keep (T-42)', () => {
    expect(refuseTierB({ ...OWN_UID, powerfulGroups: ['docker', 'disk'] })).toEqual(
      refused('A Tier B tool would keep the operator’s groups, and docker, disk can mean root.', OWN_USER),
    );
  });

  test.each<[string, TierBQuestion]>([
    ['with a uid of its own, and no groups', OTHER_UID],
    ['by the operator', { ...OWN_UID, ...profile({ startedFor: 'operator' }) }],
  ])('but not one that is started %s', (_, question) => {
    expect(refuseTierB({ ...question, ...version(5), powerfulGroups: ['docker'] })).toBeUndefined();
  });
});

describe('what only Landlock can carve out', () => {
  const carvings: readonly [string, Partial<SandboxProfile>][] = [
    ['a read-only workspace', { workspace: { root: '/work', access: 'read-only' } }],
    ['a path to read', { readOnlyPaths: ['/data'] }],
    ['a mask', { maskedPaths: ['/work/keys'] }],
  ];

  test.each(carvings)('%s needs a version that knows truncation', (_, changed) => {
    const question = { ...OTHER_UID, ...profile(changed) };
    const message = 'Only Landlock keeps a Tier B tool from files, and this kernel’s does not.';
    for (const landlockVersion of [0, 2]) {
      expect(refuseTierB({ ...question, ...version(landlockVersion) })).toEqual(refused(message, 'Use Tier C.'));
    }
    expect(refuseTierB({ ...question, ...version(3) })).toBeUndefined();
  });

  test('the operator’s own commands are no exception', () => {
    const question = { ...OWN_UID, ...profile({ startedFor: 'operator', maskedPaths: ['/work/keys'] }) };
    expect(refuseTierB({ ...question, ...version(2) })).toMatchObject({ code: 'sandbox.unsupported' });
  });

  test('a path to write is nothing that was carved out', () => {
    expect(refuseTierB({ ...OTHER_UID, ...profile({ writablePaths: ['/cache'] }), ...version(0) })).toBeUndefined();
  });

  test('there are as many rules as the launcher takes', () => {
    expect(refuseTierB({ ...OWN_UID, landlock: rules(4096) })).toBeUndefined();
    expect(refuseTierB({ ...OWN_UID, landlock: rules(4097) })).toEqual(
      refused('Too many files lie beside those that must be hidden.', 'Use Tier C.'),
    );
  });
});

test('a workspace that the tool could not even enter is refused', () => {
  expect(refuseTierB({ ...OTHER_UID, isWorkspaceHidden: true })).toEqual(
    refused(
      'The workspace lies in a directory that only root may enter, and a Tier B tool is not root.',
      'Use Tier C, which hands it over, or move the workspace.',
    ),
  );
});
