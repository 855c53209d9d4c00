import { sampleQuestion } from '@palyra/testkit';
import { expect, test } from 'vitest';
import type { Effect } from './approval-effect.ts';
import { checkQuestion, isBelow, offeredScopes } from './question.ts';

test('a yes reaches as far as the policy offers and the effects can be named', () => {
  const scopes = (needs: Parameters<typeof sampleQuestion>[0]) => offeredScopes(sampleQuestion(needs)).join(' ');
  expect(scopes({ needs: { offer: 'once' } })).toBe('once');
  expect(scopes({ needs: { offer: 'session' } })).toBe('once session timeboxed');
  expect(scopes({ needs: { offer: 'always' } })).toBe('once session timeboxed always');
  expect(scopes({ effects: [] })).toBe('once');
  const argv: Effect = { kind: 'argv', argv: ['make'], cwd: '/work' };
  expect(scopes({ effects: [argv] })).toBe('once');
});

test.each([
  { key: '' },
  { run: '' },
  { credential: '' },
  { needs: { approvers: 0 } },
  { needs: { approvers: 1.5 } },
  { needs: { holdsMs: 0 } },
])('a question with %j is not asked', (sample) => {
  expect(() => checkQuestion(sampleQuestion(sample))).toThrow(
    expect.objectContaining({ code: 'approvals.invalid_question' }),
  );
});

test('assurance has an order', () => {
  expect(isBelow('same_host_key', 'separate_device')).toBe(true);
  expect(isBelow('user_verified', 'user_verified')).toBe(false);
});
