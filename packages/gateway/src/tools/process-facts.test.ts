import { DEFAULT_LIMITS, type Planning, type SandboxProfile } from '@palyra/sandbox';
import { expect, test } from 'vitest';
import type { ProcessCommand } from './process-command.ts';
import { declaredBy, enforcedBy } from './process-facts.ts';

type Planned = Extract<Planning, { kind: 'planned' }>;

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
  unixSockets: 'allowed',
  limits: DEFAULT_LIMITS,
  mustHold: [],
  environment: [],
  startedFor: 'agent',
};

const NETWORK: ProcessCommand['network'] = {
  kind: 'network',
  mode: 'strict',
  rules: [],
  hosts: [],
  privateHosts: [],
  unlisted: 'deny',
  isProxied: true,
  isWished: false,
};

function processWith(changes: Partial<SandboxProfile>, more: Partial<ProcessCommand> = {}): ProcessCommand {
  const command = { argv: ['ls'], cwd: '/work' };
  const profile = { ...PROFILE, ...changes };
  return { kind: 'command', command, profile, stdin: undefined, isAttachable: false, network: NETWORK, ...more };
}

/** Of the survey and the plan what facts are made of. */
function plannedWith(survey: object, landlock?: object): Planned {
  const around = {
    program: '/usr/bin/ls',
    workspace: { root: '/work', gitDirectories: [] },
    paths: { readOnly: [], writable: [] },
    toolchains: { readOnly: [] },
    systemRoots: [{ kind: 'directory', path: '/usr' }],
    ...survey,
  };
  return { kind: 'planned', plan: { landlock }, survey: around } as unknown as Planned;
}

const factsOf = (process: ProcessCommand, planned = plannedWith({}), registryHosts: readonly string[] = []) =>
  enforcedBy({ process, planned, registryHosts });

test('the roots of a box are what it shows', () => {
  const shown = {
    workspace: { root: '/work', gitDirectories: ['/repository/.git'] },
    paths: { readOnly: ['/data'], writable: ['/cache'] },
    toolchains: { readOnly: ['/opt/node'] },
  };
  expect(factsOf(processWith({}), plannedWith(shown))).toMatchObject({
    tier: 'C',
    readRoots: ['/work', '/repository/.git', '/data', '/cache', '/opt/node', '/usr'],
    writeRoots: ['/work', '/repository/.git', '/cache'],
  });
  const readOnly = processWith({ workspace: { root: '/work', access: 'read-only' } });
  expect(factsOf(readOnly, plannedWith(shown)).writeRoots).toEqual(['/cache']);
});

test('Tier B reaches what Landlock leaves, and without it everything', () => {
  const process = processWith({ tier: 'B' }, { network: { ...NETWORK, mode: 'none', isProxied: false } });
  expect(factsOf(process)).toMatchObject({ tier: 'B', egress: 'none', readRoots: ['/'], writeRoots: ['/'] });
  const rules = [
    { path: '/usr', access: 'read' },
    { path: '/work', access: 'write' },
  ];
  expect(factsOf(process, plannedWith({}, { rules, stamp: '' }))).toMatchObject({
    readRoots: ['/usr', '/work'],
    writeRoots: ['/work'],
  });
});

test('what lies outside the workspace, and what was lifted in it, is named', () => {
  const process = processWith({
    readOnlyPaths: ['/data/', '/work/sub'],
    writablePaths: ['/workspace'],
    protection: { lifted: ['/work/.envrc'] },
  });
  expect(factsOf(process)).toMatchObject({ outsidePaths: ['/data', '/workspace'], protectedPaths: ['/work/.envrc'] });
});

test('hosts are those that the proxy will let through, with what is known of them', () => {
  const hosts = ['packages.example:443', '10.0.0.1:80'];
  const process = processWith({}, { network: { ...NETWORK, hosts, privateHosts: ['10.0.0.1:80'] } });
  expect(factsOf(process, plannedWith({}), ['packages.example:443', 'other.example:443'])).toMatchObject({
    hosts: ['packages.example:443', '10.0.0.1:80'],
    registryHosts: ['packages.example:443'],
    privateHosts: ['10.0.0.1:80'],
  });
});

test('the words of the command are said, and nothing more is made of them', () => {
  const argv = [
    'curl',
    '-o',
    '/etc/../tmp/x',
    '--url=https://a.example:8443/y',
    'ssh://b.example',
    'c.example',
    'x://',
  ];
  const process = processWith({}, { command: { argv, cwd: '/work' } });
  expect(declaredBy(process, plannedWith({}))).toEqual({
    executable: '/usr/bin/ls',
    arguments: argv.slice(1),
    hosts: ['a.example:8443', 'b.example:22', 'c.example:80'],
    paths: ['/tmp/x'],
  });
});
