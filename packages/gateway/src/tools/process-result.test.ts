import type { Ran, RunResult } from '@palyra/sandbox';
import { describe, expect, test } from 'vitest';
import { type NetworkUse, NO_NETWORK } from '../connections/network-use.ts';
import { endOf, toolResultOf } from './process-result.ts';

const RAN: Ran = {
  executor: 'sandbox_tier_c_linux_bubblewrap',
  enforcement: { fileSystem: 'isolated', network: 'isolated' },
  output: { stdout: Buffer.from('out'), stderr: Buffer.from('err') },
  usage: { wallMs: 1.6, userMs: 2, systemMs: 3, maxRssBytes: 4, outputBytes: 6 },
  facts: undefined,
  pooled: false,
  protectedChanged: [
    { path: '/work/.envrc', what: 'created', restored: true, keptAs: '/home/ada/.palyra/kept/1', reason: 'direnv.' },
  ],
  startedAt: 10,
  endedAt: 20,
};

const as = (result: RunResult, isTimeOver = false, network = NO_NETWORK) =>
  toolResultOf({
    result,
    isTimeOver,
    redact: (bytes, how) => Buffer.from(`${how}:${Buffer.from(bytes).toString()}`),
    network,
  });

test('an exit code is a completed call, with what was measured and what was put back', () => {
  expect(as({ kind: 'completed', exitCode: 3, ...RAN })).toEqual({
    kind: 'completed',
    exitCode: 3,
    stdout: Buffer.from('whole:out'),
    stderr: Buffer.from('whole:err'),
    output: {
      protected_changed: [{ path: '/work/.envrc', what: 'created', restored: true, kept: true, reason: 'direnv.' }],
    },
    ran: {
      executor: 'sandbox_tier_c_linux_bubblewrap',
      enforcement: 'strict',
      sandbox: {
        file_system: 'isolated',
        network: 'isolated',
        measured: false,
        pooled: false,
        egress_mode: 'strict',
        way_out: 'none',
      },
      resources: { wall_ms: 2, user_ms: 2, system_ms: 3, max_rss_bytes: 4, output_bytes: 6 },
      egress: [],
      startedAt: 10,
      endedAt: 20,
    },
  });
});

describe('every other end has its kind and code', () => {
  test.each([
    [
      { kind: 'signalled', signal: 'SIGSEGV', ...RAN },
      { kind: 'failed', code: 'tool.signalled', signal: 'SIGSEGV', message: 'It was ended by SIGSEGV.' },
    ],
    [
      { kind: 'timed_out', limit: 'wall', ...RAN },
      { kind: 'timed_out', code: 'tool.timed_out' },
    ],
    [
      { kind: 'timed_out', limit: 'idle', ...RAN },
      { kind: 'timed_out', code: 'tool.silent' },
    ],
    [
      { kind: 'cancelled', ...RAN },
      { kind: 'cancelled', code: 'tool.cancelled' },
    ],
    [
      { kind: 'quota_exceeded', quota: 'memory', ...RAN },
      { kind: 'quota_exceeded', code: 'tool.memory_exceeded' },
    ],
    [
      { kind: 'quota_exceeded', quota: 'file_size', ...RAN },
      { kind: 'quota_exceeded', code: 'tool.file_size_exceeded' },
    ],
    [
      { kind: 'lost', ...RAN },
      { kind: 'unknown_outcome', code: 'tool.lost' },
    ],
  ] as const)('%j', (result, expected) => {
    expect(as(result)).toMatchObject(expected);
  });
});

test('ended because its time was over is not cancelled', () => {
  expect(as({ kind: 'cancelled', ...RAN }, true)).toMatchObject({ kind: 'timed_out', code: 'tool.timed_out' });
});

describe('a fix is one that the caller or the operator can follow, and no field of a profile that neither has', () => {
  const ended = (stderr: string): RunResult => ({
    kind: 'completed',
    exitCode: 1,
    ...RAN,
    output: { stdout: Buffer.from(''), stderr: Buffer.from(stderr) },
  });

  test.each([
    ['cpu', 'process_runner.cpu_ms'],
    ['memory', 'process_runner.memory_bytes'],
    ['processes', 'process_runner.processes'],
    ['output', 'process_runner.output_bytes'],
    ['file_size', 'process_runner.file_bytes'],
    ['disk', 'process_runner.tmpfs_bytes'],
  ] as const)('of too much %s', (quota, setting) => {
    const fix = `Use less, or have the operator raise ${setting} in palyra.toml.`;
    expect(as({ kind: 'quota_exceeded', quota, ...RAN })).toMatchObject({ fix });
  });

  test('of too little time, whoever ended it', () => {
    const fix = expect.stringMatching(/--timeout.* process_runner\.wall_ms and tool_calls\.execution_timeout_ms /);
    expect(as({ kind: 'timed_out', limit: 'wall', ...RAN })).toMatchObject({ fix });
    expect(as({ kind: 'cancelled', ...RAN }, true)).toMatchObject({ fix });
    expect(as({ kind: 'cancelled', ...RAN })).not.toHaveProperty('fix');
    expect(as({ kind: 'timed_out', limit: 'idle', ...RAN })).toMatchObject({
      fix: expect.stringContaining('process_runner.idle_ms'),
    });
  });

  test.each([
    ['unix_sockets', 'Error: listen EAFNOSUPPORT: address family not supported /tmp/tsx-1000/2.pipe'],
    ['protected_path', "mv: cannot move '.git' to 'g': Device or resource busy"],
    ['read_only', "touch: cannot touch '/etc/x': Read-only file system"],
    ['hidden_home', 'cat: /home/palyra/.ssh/id_ed25519: No such file or directory'],
    ['limit', 'Error: EMFILE: too many open files, open'],
  ])('of %s: %s', (kind, said) => {
    const fix = expect.not.stringMatching(/profile|limits\.|lifted/);
    expect(as(ended(said))).toMatchObject({ output: { hints: [{ kind, fix }] } });
  });
});

test('what never ran is a refusal, with nothing of an execution', () => {
  const why = { code: 'sandbox.start_failed', message: 'No.', fix: 'Yes.' } as const;
  const refusal = { kind: 'refused', ...why };
  expect(as({ kind: 'failed_to_start', ...why })).toEqual(refusal);
  expect(as({ kind: 'refused', ...why })).toEqual(refusal);
});

test('output that was cut off is redacted as such', () => {
  expect(endOf({ kind: 'quota_exceeded', quota: 'output', ...RAN })).toBe('cut');
  expect(as({ kind: 'quota_exceeded', quota: 'output', ...RAN })).toMatchObject({ stdout: Buffer.from('cut:out') });
});

describe('the network of a command', () => {
  const failed = (stderr: string): RunResult => ({
    kind: 'completed',
    exitCode: 6,
    ...RAN,
    output: { stdout: Buffer.from(''), stderr: Buffer.from(stderr) },
  });
  const hintOf = (network: NetworkUse) => as(failed('curl: (6) Could not resolve host: a.example'), false, network);

  test('is not strict when everything passes the proxy, however empty its namespace is', () => {
    for (const mode of ['none', 'preflight'] as const) {
      const told = as({ kind: 'completed', exitCode: 0, ...RAN }, false, { mode, hadWayOut: true, attempts: [] });
      expect(told).toMatchObject({
        output: { egress: mode },
        ran: { enforcement: mode, sandbox: { egress_mode: mode } },
      });
    }
  });

  test('gets a hint when it was not used as it must be', () => {
    expect(hintOf({ ...NO_NETWORK, hadWayOut: true })).toMatchObject({ output: { hints: [{ kind: 'network' }] } });
    const through = {
      number: 1,
      at: 0,
      protocol: 'connect',
      host: 'b.example',
      port: 443,
      outcome: 'allowed',
    } as const;
    const attempts = [{ ...through, bytesIn: 1, bytesOut: 1 }];
    expect(hintOf({ ...NO_NETWORK, hadWayOut: true, attempts })).not.toHaveProperty('output.hints');
    expect(hintOf(NO_NETWORK)).toMatchObject({
      output: { hints: [{ kind: 'network', what: 'The command was run without a network.' }] },
    });
  });

  test('and the fix of the denial when it was denied', () => {
    const denial = { code: 'egress.host_not_allowed', host: 'a.example', port: 443, missing: 'm', rule: 'r' };
    const attempt = {
      number: 1,
      at: 0,
      protocol: 'connect',
      host: 'a.example',
      port: 443,
      bytesIn: 0,
      bytesOut: 0,
    } as const;
    const attempts = [{ ...attempt, outcome: 'denied', denial: { ...denial, message: 'No.', fix: 'Ask.' } }] as const;
    expect(hintOf({ ...NO_NETWORK, hadWayOut: true, attempts })).toMatchObject({
      output: {
        hints: [{ kind: 'network', what: 'No.', fix: 'Ask.' }],
        denied_connections: [{ code: 'egress.host_not_allowed', host: 'a.example', port: 443 }],
      },
      ran: { egress: [{ host: 'a.example', port: 443, outcome: 'denied', code: 'egress.host_not_allowed' }] },
    });
  });
});
