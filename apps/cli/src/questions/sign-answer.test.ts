import { canonicalJson, type JsonValue } from '@palyra/primitives';
import { describe, expect, test } from 'vitest';
import { promptForTests } from './prompt-for-tests.ts';
import { readPrompt } from './shown-prompt.ts';
import { type Answer, bytesToSign } from './sign-answer.ts';

const { prompt, digest } = readPrompt(JSON.stringify(promptForTests()));
const YES: Answer = { decision: 'approve', scope: 'once' };
const SESSION: Answer = { decision: 'approve', scope: 'session' };

function draft(answer: Answer, more: Readonly<Record<string, JsonValue>> = {}): string {
  const now = Date.now();
  const option = prompt.options.find(({ scope }) => answer.decision === 'approve' && scope === answer.scope);
  return canonicalJson({
    format: 'palyra.approval/1',
    origin: 'palyra.test',
    approval_id: prompt.approval_id,
    subject: prompt.what.subject,
    decision: answer.decision,
    scope: answer.decision === 'approve' ? answer.scope : 'once',
    pattern: option?.pattern == null ? null : (JSON.parse(option.pattern) as JsonValue),
    expires_at: now + (option?.holds_ms ?? 0),
    prompt: digest,
    decider: 'user:ada',
    credential: 'D1',
    device: 'D1',
    assurance: 'same_host_key',
    decided_at: now,
    reason: answer.decision === 'deny' ? (answer.reason ?? null) : null,
    ...more,
  });
}

const question = { prompt, digest, device: 'D1' };

describe('what palyrad drafts is signed when it is what was answered', () => {
  test.each([
    ['a yes', YES],
    ['a yes for the session', SESSION],
    ['a no', { decision: 'deny' } as const],
    ['a no with a reason', { decision: 'deny', reason: 'not today' } as const],
  ])('%s', (_name, answer) => {
    const text = draft(answer);
    expect(Buffer.from(bytesToSign(text, { ...question, answer })).toString()).toBe(
      `palyra/approval-statement/v1\n${text}`,
    );
  });
});

describe('and not when it is something else', () => {
  test.each<[string, Answer, Readonly<Record<string, JsonValue>>]>([
    ['another question', YES, { approval_id: 'X' }],
    ['another call', YES, { subject: 'ef'.repeat(32) }],
    ['another prompt', YES, { prompt: 'ef'.repeat(32) }],
    ['a yes for a no', { decision: 'deny' }, { decision: 'approve' }],
    ['a wider scope', YES, { scope: 'session' }],
    ['a pattern where there is none', YES, { pattern: { effects: [], principal: 'p', session: null, workspace: 'w' } }],
    [
      'a wider pattern',
      SESSION,
      { pattern: { effects: [], principal: 'agent:local', session: null, workspace: 'shop' } },
    ],
    ['a longer time', YES, { expires_at: Date.now() + 86_400_000 }],
    ['no time', YES, { expires_at: null }],
    ['another device', YES, { credential: 'D2' }],
    ['another format', YES, { format: 'palyra.approval/2' }],
    ['words that nobody said', { decision: 'deny' }, { reason: 'go on, then' }],
  ])('%s', (_name, answer, more) => {
    expect(() => bytesToSign(draft(answer, more), { ...question, answer })).toThrow(
      expect.objectContaining({ code: 'cli.draft_differs' }),
    );
  });
});

test('a question in an unknown form is not answered', () => {
  expect(() => readPrompt('{"format":"palyra.prompt/9"}')).toThrow(
    expect.objectContaining({ code: 'cli.not_understood' }),
  );
});
