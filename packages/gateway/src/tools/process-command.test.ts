import { DEFAULT_LIMITS, type SandboxProfile } from '@palyra/sandbox';
import { describe, expect, test } from 'vitest';
import { readInputSchema } from '../catalog/input-schema.ts';
import { parseInput } from '../catalog/parse-input.ts';
import { DEFAULT_OPERATOR_NETWORK } from '../connections/operator-network.ts';
import { commandOf, PROCESS_INPUT, type ProcessInput } from './process-command.ts';

const OPERATORS: SandboxProfile = {
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
  limits: { ...DEFAULT_LIMITS, wallMs: 9000 },
  mustHold: [],
  environment: ['LANG'],
  startedFor: 'agent',
};

const NETWORK = { ...DEFAULT_OPERATOR_NETWORK, privateRanges: ['127.0.0.1:8080'] };
const OFFLINE = {
  kind: 'network',
  mode: 'strict',
  rules: [],
  hosts: [],
  privateHosts: [],
  unlisted: 'ask',
  isProxied: true,
  isWished: false,
} as const;

function made(input: Omit<ProcessInput, 'argv'>, operators: SandboxProfile = OPERATORS) {
  return commandOf({ argv: ['true'], ...input }, { profile: operators, network: NETWORK }, { timeoutMs: 5000 });
}

test('its schema is one that is checked', () => {
  expect(readInputSchema('palyra.process.run', PROCESS_INPUT).required).toEqual(['argv']);
});

test('without wishes it is the operator’s profile, for as long as a call may take', () => {
  expect(made({})).toEqual({
    kind: 'command',
    command: { argv: ['true'], cwd: '/work', environment: {} },
    profile: { ...OPERATORS, limits: { ...OPERATORS.limits, wallMs: 5000 } },
    stdin: undefined,
    isAttachable: false,
    network: OFFLINE,
  });
});

describe('somebody attached', () => {
  const schema = { name: 'palyra.process.run', inputSchema: PROCESS_INPUT };
  const parsed = (input: object) => parseInput(JSON.stringify({ argv: ['sh'], ...input }), schema);
  const terminal = { rows: 24, columns: 80, name: 'screen.xterm-256color' };

  test('feeds it where the input says so, and nowhere else', () => {
    expect(made({})).toMatchObject({ isAttachable: false });
    expect(made({ stdin_open: false })).toMatchObject({ isAttachable: false });
    expect(made({ stdin_open: true })).toMatchObject({ isAttachable: true, command: { argv: ['true'] } });
    expect(made({ terminal })).toMatchObject({ isAttachable: true, command: { terminal } });
    expect(made({ terminal, stdin_open: false })).toMatchObject({ isAttachable: true });
  });

  test('and a text that it reads exclude one another', () => {
    const twice = { kind: 'refused', code: 'gateway.invalid_input', message: expect.stringContaining('stdin_open') };
    expect(made({ stdin: '', stdin_open: true })).toMatchObject(twice);
    expect(made({ stdin: 'x', terminal })).toMatchObject(twice);
    expect(made({ stdin: 'x', stdin_open: false })).toMatchObject({ kind: 'command', stdin: 'x' });
  });

  test.each([
    [{ terminal }],
    [{ terminal: { rows: 1, columns: 9999 } }],
    [{ stdin_open: true }],
    [{ terminal: { rows: 1, columns: 1, name: 'x'.repeat(64) } }],
  ])('%j is taken', (input) => {
    expect(parsed(input)).toMatchObject({ kind: 'parsed' });
  });

  test.each([
    [{ terminal: true }],
    [{ terminal: {} }],
    [{ terminal: { rows: 24 } }],
    [{ terminal: { rows: 0, columns: 80 } }],
    [{ terminal: { rows: 24, columns: 10_000 } }],
    [{ terminal: { rows: 24.5, columns: 80 } }],
    [{ terminal: { rows: 24, columns: 80, colours: 8 } }],
    [{ terminal: { rows: 24, columns: 80, name: '' } }],
    [{ terminal: { rows: 24, columns: 80, name: '../../etc/passwd' } }],
    [{ terminal: { rows: 24, columns: 80, name: 'xterm\n' } }],
    [{ terminal: { rows: 24, columns: 80, name: 'x'.repeat(65) } }],
    [{ stdin_open: 'true' }],
    [{ stdin_open: 1 }],
  ])('%j is refused', (input) => {
    expect(parsed(input)).toMatchObject({ kind: 'refused', code: 'gateway.invalid_input' });
  });
});

test('the shortest time counts', () => {
  expect(made({ timeout_ms: 10 })).toMatchObject({ profile: { limits: { wallMs: 10 } } });
  expect(made({ timeout_ms: 60_000 })).toMatchObject({ profile: { limits: { wallMs: 5000 } } });
});

test('a directory is taken from the workspace, and is where it says', () => {
  expect(made({ cwd: 'a/../b' })).toMatchObject({ command: { cwd: '/work/b' } });
  expect(made({ cwd: '/etc' })).toMatchObject({ command: { cwd: '/etc' } });
  expect(made({ cwd: '../../etc' })).toMatchObject({ command: { cwd: '/etc' } });
});

describe('the network', () => {
  test('of a box is the hosts that were named; others are asked about only where nobody named any', () => {
    expect(made({ network: ['Example.com', '127.0.0.1:80', '127.0.0.1:8080'] })).toMatchObject({
      profile: { tier: 'C', egress: { mode: 'strict', hosts: ['example.com:443', '127.0.0.1:80', '127.0.0.1:8080'] } },
      network: { mode: 'strict', privateHosts: ['127.0.0.1:80'], unlisted: 'deny', isWished: true },
    });
    expect(made({ network: [] })).toMatchObject({ network: { unlisted: 'deny', isWished: false } });
    expect(made({ network: ['a.example'], unlisted: 'ask' })).toMatchObject({ network: { unlisted: 'ask' } });
    expect(made({ unlisted: 'deny' })).toMatchObject({ network: { ...OFFLINE, unlisted: 'deny' } });
  });

  test('of Tier B is open, and whoever names hosts there is still held to them, so that the sandbox refuses', () => {
    expect(made({ sandbox: 'limits' })).toMatchObject({
      profile: { tier: 'B', egress: { mode: 'none', hosts: [] } },
      network: { mode: 'none', isProxied: false, unlisted: 'deny' },
    });
    expect(made({ sandbox: 'limits', network: [] })).toMatchObject({
      profile: { tier: 'B', egress: { mode: 'strict', hosts: [] } },
    });
  });

  test('is only looked at where the caller says so, and the sandbox is told that nothing holds it', () => {
    expect(made({ sandbox: 'limits', network: ['a.example'], egress: 'preflight' })).toMatchObject({
      profile: { tier: 'B', egress: { mode: 'none', hosts: [] } },
      network: { mode: 'preflight', hosts: ['a.example:443'], isProxied: false },
    });
  });

  test('is open in a box when it is asked for, and then has no list', () => {
    expect(made({ egress: 'none' })).toMatchObject({
      profile: { tier: 'C', egress: { mode: 'none', hosts: [] } },
      network: { mode: 'none', isProxied: true, unlisted: 'deny', isWished: true },
    });
    expect(made({ egress: 'none', network: ['a.example'] })).toMatchObject({
      kind: 'refused',
      code: 'gateway.invalid_input',
      message: 'The open network has no list of hosts.',
    });
  });

  test('is closed when a box was asked for where the operator has none', () => {
    const open: SandboxProfile = { ...OPERATORS, tier: 'B', egress: { mode: 'none', hosts: [] } };
    expect(made({ sandbox: 'strict' }, open)).toMatchObject({
      profile: { tier: 'C', egress: { mode: 'strict', hosts: [] } },
    });
  });

  test('is the operator’s where the call says nothing of it, in the operator’s tier only', () => {
    const usual: SandboxProfile = {
      ...OPERATORS,
      egress: { mode: 'preflight', hosts: ['a.example', '*.b.example:80'] },
    };
    const hosts = ['a.example:443', '*.b.example:80'];
    expect(made({}, usual)).toMatchObject({ profile: { tier: 'C' }, network: { mode: 'preflight', hosts } });
    expect(made({ egress: 'strict' }, usual)).toMatchObject({ network: { mode: 'strict', hosts } });
    expect(made({ network: ['c.example'] }, usual)).toMatchObject({
      network: { mode: 'strict', hosts: ['c.example:443'], unlisted: 'deny' },
    });
    expect(made({ network: [] }, usual)).toMatchObject({ network: { mode: 'strict', hosts: [] } });
    expect(made({ sandbox: 'limits' }, usual)).toMatchObject({ network: { mode: 'none', hosts: [] } });
    expect(made({ sandbox: 'strict' }, { ...usual, tier: 'B' })).toMatchObject({
      network: { mode: 'strict', hosts: [] },
    });
  });

  test('that is open has none of the operator’s hosts', () => {
    const usual: SandboxProfile = { ...OPERATORS, egress: { mode: 'strict', hosts: ['a.example'] } };
    expect(made({ egress: 'none' }, usual)).toMatchObject({ network: { mode: 'none', hosts: [], isWished: true } });
  });

  test('is named by hosts', () => {
    expect(made({ network: ['a.example', 'b.example/x'] })).toMatchObject({
      kind: 'refused',
      code: 'gateway.invalid_input',
      message: expect.stringContaining('The field network[1]: "b.example/x" is not a host'),
    });
  });
});

test('variables go into the box; without one only those that the operator lets through', () => {
  expect(made({ environment: { A: '1', LANG: 'C' } })).toMatchObject({
    command: { environment: { A: '1', LANG: 'C' } },
    profile: { environment: ['LANG', 'A'] },
  });
  expect(made({ sandbox: 'limits', environment: { LANG: 'C' } })).toMatchObject({ kind: 'command' });
  expect(made({ sandbox: 'limits', environment: { A: '1' } })).toMatchObject({
    kind: 'refused',
    message: 'The variable A is not among those that the operator lets through in Tier B.',
  });
});
