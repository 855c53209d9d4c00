import { expect, test } from 'vitest';
import { endOf, endOfError } from './end-of-call.ts';
import type { EndedCall } from './exit-of-outcome.ts';

function ended(outcome: EndedCall['outcome']): EndedCall {
  return { decision: { kind: 'allow' }, outcome };
}

test('a command that ended by itself says nothing more than it said', () => {
  expect(endOf(ended({ kind: 'completed', exit_code: 0 }))).toEqual({ exit: 0, words: '' });
  expect(endOf(ended({ kind: 'failed', code: 'gateway.tool_failed', message: 'no', exit_code: 3 }))).toEqual({
    exit: 3,
    words: '',
  });
});

test('one that did not says why, and what would help', () => {
  const refused = { kind: 'refused', code: 'policy.denied', message: 'It is\nnot allowed\u001b[2J.', fix: 'Ask.' };
  expect(endOf(ended(refused))).toEqual({
    exit: 246,
    words: 'error[policy.denied]: It is\nnot allowed\\u{1B}[2J.\nfix: Ask.\n',
  });
  const killed = { kind: 'failed', code: 'sandbox.killed', message: 'It was killed.', signal: 'SIGKILL' };
  expect(endOf(ended(killed))).toEqual({ exit: 137, words: 'error[sandbox.killed]: It was killed.\n' });
});

test('what nobody could come for ends as the cli ends with that error', () => {
  const error = { code: 'gateway.call_not_found', message: 'No such command.', fix: 'Propose it again.' };
  expect(endOfError(error)).toEqual({
    exit: 248,
    words: 'error[gateway.call_not_found]: No such command.\nfix: Propose it again.\n',
  });
  expect(endOfError({ code: 'somebody.elses', message: 'x' }).exit).toBe(241);
});
