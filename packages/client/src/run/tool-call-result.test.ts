import { create, fromJson, type MessageInitShape } from '@bufbuild/protobuf';
import {
  ApprovalOutcome,
  ApprovalScope,
  DecisionKind,
  OutcomeKind,
  type OutcomeSchema,
  ToolCallResultSchema,
} from '@palyra/api';
import { describe, expect, test } from 'vitest';
import { isCompleted, isRefused, requireCompleted, ToolCallError } from './require-completed.ts';
import { toToolCallResult } from './tool-call-result.ts';

const PARTS = {
  runId: 'R',
  callId: 'C',
  tool: 'palyra.process.run',
  decision: { kind: DecisionKind.ALLOW, policyIds: ['in-the-box'], reasonCode: 'allowed', reason: 'It may.' },
  attestation: { attestationId: 'A', executor: 'sandbox_tier_c_linux_bubblewrap', journalSeq: 12n },
};

function resultOf(outcome: MessageInitShape<typeof OutcomeSchema>) {
  return toToolCallResult(create(ToolCallResultSchema, { ...PARTS, outcome }));
}

describe('the JSON of every surface', () => {
  test('of a command that ran', () => {
    const approval = { id: 'Q', outcome: ApprovalOutcome.APPROVED, scope: ApprovalScope.ONCE, decidedBy: 'user:ada' };
    const outcome = { kind: OutcomeKind.COMPLETED, exitCode: 0, stdout: Buffer.from('é\n') };
    expect(toToolCallResult(create(ToolCallResultSchema, { ...PARTS, approval, outcome }))).toEqual({
      run_id: 'R',
      call_id: 'C',
      tool: 'palyra.process.run',
      decision: { kind: 'allow', policy_ids: ['in-the-box'], reason_code: 'allowed', reason: 'It may.' },
      approval: { id: 'Q', outcome: 'approved', scope: 'once', decided_by: 'user:ada' },
      outcome: { kind: 'completed', exit_code: 0, stdout: 'é\n', stderr: '' },
      attestation: {
        attestation_id: 'A',
        execution_sha256: '',
        executor: 'sandbox_tier_c_linux_bubblewrap',
        sandbox_enforcement: '',
        coverage: '',
        policy_snapshot_sha256: '',
        journal_seq: 12,
      },
    });
  });

  test('of what is no text', () => {
    expect(resultOf({ kind: OutcomeKind.COMPLETED, exitCode: 0, stdout: Uint8Array.of(0xff, 0) }).outcome).toEqual({
      kind: 'completed',
      exit_code: 0,
      stdout_base64: '/wA=',
      stderr: '',
    });
  });

  test('of more than a message has room for: how much there is in all', () => {
    const told = { stdout: Buffer.from('abc'), stdoutBytes: 5_000_000n, stderrBytes: 0n, outputJsonBytes: 9_000_000n };
    expect(resultOf({ kind: OutcomeKind.COMPLETED, exitCode: 0, ...told }).outcome).toEqual({
      kind: 'completed',
      exit_code: 0,
      stdout: 'abc',
      stderr: '',
      stdout_bytes: 5_000_000,
      output_bytes: 9_000_000,
    });
  });

  test('of a tool that is no process', () => {
    const outcome = { kind: OutcomeKind.COMPLETED, outputJson: '{"text":"x"}' };
    expect(resultOf(outcome).outcome).toEqual({ kind: 'completed', output: { text: 'x' } });
  });

  test('of one that was refused', () => {
    const outcome = { kind: OutcomeKind.REFUSED, code: 'policy.denied', message: 'No.', fix: 'Ask.' };
    expect(resultOf(outcome).outcome).toEqual({ kind: 'refused', code: 'policy.denied', message: 'No.', fix: 'Ask.' });
  });
});

test('a word that only a newer palyrad knows is no completion and no permission', () => {
  const told = fromJson(ToolCallResultSchema, {
    decision: { kind: 99 },
    approval: { id: 'Q', outcome: 99 },
    outcome: { kind: 99 },
    attestation: {},
  });
  expect(toToolCallResult(told)).toMatchObject({
    decision: { kind: 'deny' },
    approval: { outcome: 'pending' },
    outcome: { kind: 'unknown_outcome' },
  });
});

test('a result without its parts is none', () => {
  const missing = expect.objectContaining({ code: 'client.protocol' });
  for (const part of ['decision', 'outcome', 'attestation'] as const) {
    const whole = create(ToolCallResultSchema, { ...PARTS, outcome: { kind: OutcomeKind.COMPLETED } });
    delete whole[part];
    expect(() => toToolCallResult(whole)).toThrow(missing);
  }
  expect(() => resultOf({ kind: OutcomeKind.COMPLETED, outputJson: '{' })).toThrow(missing);
});

describe('programs that would rather throw', () => {
  const completed = resultOf({ kind: OutcomeKind.COMPLETED, exitCode: 3 });
  const refused = resultOf({ kind: OutcomeKind.REFUSED, code: 'policy.denied', message: 'It is secret.', fix: 'Ask.' });

  test('get the outcome of what completed', () => {
    expect([isCompleted(completed), isRefused(completed)]).toEqual([true, false]);
    expect(requireCompleted(completed).exit_code).toBe(3);
  });

  test('and an error with everything else', () => {
    expect([isCompleted(refused), isRefused(refused)]).toEqual([false, true]);
    expect(() => requireCompleted(refused)).toThrow(
      expect.objectContaining({
        name: 'ToolCallError',
        code: 'client.not_completed',
        message: 'palyra.process.run was refused: It is secret. (policy.denied)',
        fix: 'Ask.',
        result: refused,
      }),
    );
    expect(new ToolCallError(refused)).toBeInstanceOf(Error);
  });
});
