import { expect, test } from 'vitest';
import { decisionInWords } from './decision.ts';

const ADA = { id: '01', scope: 'once', decided_by: 'user:ada' } as const;

test.each([
  [{ decision: 'allow' }, 'allow'],
  [{ decision: 'allow', approval: { ...ADA, outcome: 'approved' } }, 'ask, approved by user:ada'],
  [{ decision: 'ask', approval: { ...ADA, outcome: 'denied' } }, 'ask, denied by user:ada'],
  [{ decision: 'ask', approval: { id: '01', outcome: 'expired' } }, 'ask, expired'],
  [{ decision: 'ask', approval: { id: '01', outcome: 'pending' } }, 'ask'],
  [{ decision: 'deny', approval: { ...ADA, outcome: 'approved' } }, 'deny'],
  [{}, ''],
] as const)('%j is said as %j', (call, words) => {
  expect(decisionInWords(call)).toBe(words);
});
