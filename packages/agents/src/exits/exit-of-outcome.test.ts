import { expect, test } from 'vitest';
import { type EndedCall, exitOfOutcome } from './exit-of-outcome.ts';

function ended(outcome: EndedCall['outcome'], approval?: EndedCall['approval']): EndedCall {
  return { decision: { kind: 'allow' }, approval, outcome };
}

test.each([
  ['its own 0', ended({ kind: 'completed', exit_code: 0 }), 0],
  ['its own 3', ended({ kind: 'failed', code: 'tool.exit', exit_code: 3 }), 3],
  ['a signal, as shells count it', ended({ kind: 'failed', signal: 'SIGKILL' }), 137],
  ['no exit code at all', ended({ kind: 'completed' }), 0],
  ['refused by policy', ended({ kind: 'refused', code: 'policy.denied' }), 246],
  ['a human said no', ended({ kind: 'refused', code: 'gateway.approval_denied' }, { outcome: 'denied' }), 249],
  ['nobody answered', ended({ kind: 'refused', code: 'gateway.approval_expired' }, { outcome: 'expired' }), 249],
  ['stopped by an operator', ended({ kind: 'cancelled', code: 'gateway.cancelled' }), 249],
  ['its time was over', ended({ kind: 'timed_out', code: 'sandbox.wall_clock' }), 246],
  ['this host has no box', ended({ kind: 'refused', code: 'sandbox.unsupported' }), 245],
  ['no such program', ended({ kind: 'refused', code: 'sandbox.executable_not_found' }), 248],
  ['other bytes than approved', ended({ kind: 'refused', code: 'sandbox.changed_since_approved' }), 247],
  ['nobody knows', ended({ kind: 'unknown_outcome', code: 'gateway.interrupted' }), 241],
])('%s', (_name, call, exit) => {
  expect(exitOfOutcome(call)).toBe(exit);
});
