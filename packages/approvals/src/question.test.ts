import { sampleQuestion } from '@palyra/testkit';
import { expect, test } from 'vitest';
import type { Effect } from './approval-effect.ts';
import { checkQuestion, isBelow, offeredScopes, offerOf } from './question.ts';

test('a yes reaches as far as the policy offers and the effects can be named', () => {
  const scopes = (sample: Parameters<typeof sampleQuestion>[0], leftOut = 0) => {
    const question = sampleQuestion(sample);
    return offeredScopes({ offer: offerOf(question), effects: question.effects, leftOut }).join(' ');
  };
  expect(scopes({ needs: { offer: 'once' } })).toBe('once');
  expect(scopes({ needs: { offer: 'session' } })).toBe('once session timeboxed');
  expect(scopes({ needs: { offer: 'always' } })).toBe('once session timeboxed always');
  expect(scopes({ needs: { offer: 'always' }, canWriteRule: false })).toBe('once session timeboxed');
  expect(scopes({ needs: { offer: 'always' } }, 1)).toBe('once');
  expect(scopes({ effects: [] })).toBe('once');
  const argv: Effect = { kind: 'argv', argv: ['make'], cwd: '/work' };
  expect(scopes({ effects: [argv] })).toBe('once');
});

test.each([
  { key: '' },
  { key: 'x'.repeat(1_025) },
  { workspace: 'x'.repeat(1_025) },
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
