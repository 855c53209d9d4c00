import type { CallSummary } from '@palyra/client';

/** What policy said, and what a human said where it asked: with a yes its last word is `allow`, as of a call that nobody was asked about. */
export function decisionInWords({ decision, approval }: Pick<CallSummary, 'decision' | 'approval'>): string {
  // What was approved may be refused all the same.
  if (approval === undefined || approval.outcome === 'pending' || decision === 'deny') return decision ?? '';
  const by = approval.decided_by === undefined ? '' : ` by ${approval.decided_by}`;
  return `ask, ${approval.outcome}${by}`;
}
