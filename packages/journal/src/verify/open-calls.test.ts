import { describe, expect, test } from 'vitest';
import type { TypedEntry } from '../format/entry.ts';
import type { LogRecord, LogSource } from './log-source.ts';
import { createOpenCalls, lookBack } from './open-calls.ts';

const A = '01ARZ3NDEKTSV4RRFFQ69G5FAA';
const B = '01ARZ3NDEKTSV4RRFFQ69G5FAB';
const C = '01ARZ3NDEKTSV4RRFFQ69G5FAC';
const DIGEST = 'd'.repeat(64);
const HASH = new Uint8Array(32).fill(7);

function of(call_id: string) {
  return { run_id: A, session_id: A, call_id, principal: 'agent:coder', tool: 'fs.read' };
}

function intent(call_id: string): TypedEntry {
  return { kind: 'intent', data: { ...of(call_id), executor: 'box', policy_snapshot: DIGEST } };
}

function decision(call_id: string, kind: 'ask' | 'deny'): TypedEntry {
  const decided = { decision: kind, reason_code: 'policy.rule', policy_ids: [], policy_set: DIGEST };
  return { kind: 'decision', data: { ...of(call_id), ...decided, policy_snapshot: DIGEST } };
}

function proposal(call_id: string): TypedEntry {
  return { kind: 'proposal', data: { ...of(call_id), input: DIGEST } };
}

function attestation(call_id: string): TypedEntry {
  const ids = { attestation_id: A, anchor_seq: 0, anchor: DIGEST, envelope: DIGEST, execution: DIGEST };
  return { kind: 'attestation', data: { ...of(call_id), ...ids } };
}

const anchorAt = (seq: number) => ({ kind: 'intent', seq, hash: HASH, snapshot: DIGEST });

describe('open calls', () => {
  test('are known by what was noted of them, until they are taken', () => {
    const calls = createOpenCalls(0);
    calls.note(proposal(A), { seq: 3, hash: HASH });
    calls.note(intent(A), { seq: 4, hash: HASH });
    expect(calls.take(A)).toEqual({ input: DIGEST, anchors: [anchorAt(4)], isDue: true });
    expect(calls.take(A)).toBe('unknown');
    expect(calls.mayBeForgotten(4)).toBe(false);
  });

  test('without a decision or intent are unknown', () => {
    const calls = createOpenCalls(0);
    calls.note(proposal(A), { seq: 3, hash: HASH });
    expect(calls.take(A)).toBe('unknown');
  });

  test('are forgotten, the oldest first, when there are too many', () => {
    const calls = createOpenCalls(0, 2);
    for (const [seq, id] of [A, B, C].entries()) calls.note(intent(id), { seq, hash: HASH });
    expect(calls.mayBeForgotten(0)).toBe(true);
    expect(calls.mayBeForgotten(3)).toBe(false);
    expect([A, B, C].map((id) => calls.take(id))).toEqual([
      'unknown',
      { anchors: [anchorAt(1)], isDue: true },
      { anchors: [anchorAt(2)], isDue: true },
    ]);
  });

  test('count as not attested once they were begun or refused, forgotten or not', () => {
    const calls = createOpenCalls(0, 2);
    calls.note(decision(A, 'ask'), { seq: 0, hash: HASH });
    expect(calls.unattested()).toBe(0);
    calls.note(decision(A, 'deny'), { seq: 1, hash: HASH });
    calls.note(intent(B), { seq: 2, hash: HASH });
    calls.note(intent(C), { seq: 3, hash: HASH });
    expect(calls.unattested()).toBe(3);
    calls.take(C);
    calls.recalled({ anchors: [], isDue: true });
    expect(calls.unattested()).toBe(1);
  });

  test('from before the beginning may be there', () => {
    expect(createOpenCalls(5).mayBeForgotten(4)).toBe(true);
    expect(createOpenCalls(5).mayBeForgotten(5)).toBe(false);
  });
});

describe('looking back', () => {
  function sourceOf(entries: readonly TypedEntry[]): Pick<LogSource, 'records'> {
    const records = entries.map(({ kind, data }, seq): LogRecord => {
      const sorted = Object.fromEntries(Object.entries(data).toSorted(([one], [other]) => (one < other ? -1 : 1)));
      const entry = { seq, time: 1, actor: 'daemon:palyrad', kind, version: 1, data: JSON.stringify(sorted) };
      return { kind: 'entry', entry, hash: HASH };
    });
    return {
      async *records(from) {
        yield records.slice(from);
      },
    };
  }

  test('finds the call between its anchor and its attestation', async () => {
    const source = sourceOf([intent(B), intent(A), intent(B), attestation(A)]);
    expect(await lookBack(source, { callId: A, from: 1, to: 3 })).toEqual({ anchors: [anchorAt(1)], isDue: true });
  });

  test('finds that it was attested before', async () => {
    const source = sourceOf([intent(A), attestation(A), intent(B), attestation(A)]);
    expect(await lookBack(source, { callId: A, from: 0, to: 3 })).toBe('attested');
  });

  test('finds nothing where there is nothing of the call', async () => {
    const source = sourceOf([intent(B), intent(B), attestation(A)]);
    expect(await lookBack(source, { callId: A, from: 0, to: 2 })).toBe('unknown');
  });
});
