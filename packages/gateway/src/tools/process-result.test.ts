import type { Ran, RunResult } from '@palyra/sandbox';
import { describe, expect, test } from 'vitest';
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

const as = (result: RunResult, isTimeOver = false) =>
  toolResultOf({ result, isTimeOver, redact: (bytes, how) => Buffer.from(`${how}:${Buffer.from(bytes).toString()}`) });

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
      sandbox: { file_system: 'isolated', network: 'isolated', measured: false, pooled: false },
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
      { kind: 'failed', code: 'tool.signalled', signal: 'SIGSEGV' },
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
