import { describe, expect, it } from 'vitest';
import { refuseEgress, refuseMalformed } from './check-profile.ts';
import type { SandboxCommand } from './command.ts';
import { DEFAULT_LIMITS, type SandboxProfile } from './profile.ts';

const PROFILE: SandboxProfile = {
  tier: 'C',
  workspace: { root: '/work', access: 'read-write' },
  readOnlyPaths: [],
  writablePaths: [],
  maskedPaths: [],
  executables: 'any',
  interpreters: 'allowed',
  egress: { mode: 'strict', hosts: [] },
  toolchains: 'operator',
  unixSockets: 'refused',
  limits: DEFAULT_LIMITS,
  mustHold: [],
  environment: [],
  startedFor: 'agent',
};

const profileFault = (change: Partial<SandboxProfile>) =>
  refuseMalformed({ argv: ['true'] }, { ...PROFILE, ...change });
const commandFault = (command: SandboxCommand) => refuseMalformed(command, PROFILE);

describe('a profile', () => {
  it('passes as it should be', () => {
    expect(profileFault({})).toBeUndefined();
    expect(profileFault({ readOnlyPaths: ['/work/fixed', '/a/b'], writablePaths: ['/a', '/work-2'] })).toBeUndefined();
    expect(profileFault({ tier: 'B', egress: { mode: 'none', hosts: [] } })).toBeUndefined();
  });

  it.each<[string, Partial<SandboxProfile>]>([
    ['a relative workspace', { workspace: { root: 'work', access: 'read-only' } }],
    ['a path with dots', { readOnlyPaths: ['/a/../b'] }],
    ['a path with a NUL', { maskedPaths: ['/a\0b'] }],
    ['a path twice', { readOnlyPaths: ['/a'], writablePaths: ['/a'] }],
    ['a path twice, once with a slash', { readOnlyPaths: ['/a', '/a/'] }],
    ['a writable path in the workspace', { writablePaths: ['/work/build'] }],
    [
      'one in a workspace to be read',
      { workspace: { root: '/work/', access: 'read-only' }, writablePaths: ['/work/build'] },
    ],
    ['one in what may only be read', { readOnlyPaths: ['/data/'], writablePaths: ['/data/out'] }],
    ['a limit of nothing', { limits: { ...DEFAULT_LIMITS, wallMs: 0 } }],
    ['a limit that is no number', { limits: { ...DEFAULT_LIMITS, memoryBytes: Number.NaN } }],
    ['a variable with a = in its name', { environment: ['A=B'] }],
  ])('is refused with %s', (_, change) => {
    expect(profileFault(change)).toMatchObject({ kind: 'refused', code: 'sandbox.invalid_profile' });
  });

  const egressFault = (change: Partial<SandboxProfile>, wayOut: 'proxied' | 'none' = 'none') =>
    refuseEgress({ ...PROFILE, ...change }, wayOut);
  const OPEN = { mode: 'none', hosts: [] } as const;
  const HOSTS = { mode: 'strict', hosts: ['example.org:443'] } as const;
  const PREFLIGHT = { mode: 'preflight', hosts: [] } as const;

  it.each<[string, Partial<SandboxProfile>, 'proxied' | 'none']>([
    ['hosts without a way out', { egress: HOSTS }, 'none'],
    ['an open network in Tier C without a way out', { egress: OPEN }, 'none'],
    ['a restricted network in Tier B', { tier: 'B' }, 'none'],
    ['a restricted network in Tier B, also with a way out', { tier: 'B', egress: HOSTS }, 'proxied'],
    ['a way out of Tier B', { tier: 'B', egress: OPEN }, 'proxied'],
    ['a promise that it cannot keep, in Tier C', { egress: PREFLIGHT }, 'proxied'],
    ['a promise that it cannot keep, in Tier B', { tier: 'B', egress: PREFLIGHT }, 'none'],
  ])('is not supported with %s (T-20)', (_, change, wayOut) => {
    expect(egressFault(change, wayOut)).toMatchObject({ kind: 'refused', code: 'sandbox.unsupported' });
  });

  it.each<[string, Partial<SandboxProfile>, 'proxied' | 'none']>([
    ['no network', {}, 'none'],
    ['no hosts and a way out, which asks', {}, 'proxied'],
    ['hosts and a way out', { egress: HOSTS }, 'proxied'],
    ['an open network through a way out', { egress: OPEN }, 'proxied'],
    ['the host’s network in Tier B', { tier: 'B', egress: OPEN }, 'none'],
  ])('may have %s', (_, change, wayOut) => {
    expect(egressFault(change, wayOut)).toBeUndefined();
  });
});

describe('a command', () => {
  it.each<[string, SandboxCommand]>([
    ['nothing in it', { argv: [] }],
    ['an empty program', { argv: [''] }],
    ['a NUL', { argv: ['true', 'a\0b'] }],
    ['a NUL in a variable', { argv: ['true'], environment: { A: '\0' } }],
    ['a variable that the kernel does not take', { argv: ['true'], environment: { BIG: 'x'.repeat(128 * 1024 - 4) } }],
    ['an argument that the kernel does not take', { argv: ['true', 'x'.repeat(128 * 1024)] }],
    ['more than can be sent', { argv: ['true', ...Array.from({ length: 40 }, () => 'x'.repeat(100_000))] }],
    ['too many arguments', { argv: Array.from({ length: 5000 }, () => 'x') }],
    ['a relative directory', { argv: ['true'], cwd: 'src' }],
    ['a terminal without rows', { argv: ['true'], terminal: { rows: 0, columns: 80 } }],
    ['a terminal that is a path', { argv: ['true'], terminal: { rows: 24, columns: 80, name: '../x' } }],
    ['a terminal of two lines', { argv: ['true'], terminal: { rows: 24, columns: 80, name: 'x\n' } }],
  ])('is refused with %s', (_, command) => {
    expect(commandFault(command)).toMatchObject({ kind: 'refused', code: 'sandbox.invalid_command' });
  });
});
