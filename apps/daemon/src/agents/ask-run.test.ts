import type { ProposedCall, Run, ToolCallResult } from '@palyra/gateway';
import { expect, test } from 'vitest';
import type { RunHub } from '../runs/run-hub.ts';
import { type AgentSession, askRun, type RunQuestion } from './ask-run.ts';
import { createPendingReports } from './pending-reports.ts';

const ENDED = {
  call_id: '01M7P879SM6YTABB42R3AAM9ST',
  decision: { kind: 'allow', policy_ids: [], reason_code: 'allowed', reason: 'It may.' },
  outcome: { kind: 'unknown_outcome', code: 'gateway.not_reported', message: 'It was stopped.' },
} as unknown as ToolCallResult;

/** As the gateway does with a tool of the agent's own: the intent is on disk, then its report is waited for. */
function runThatIs(state: 'going on' | 'stopped') {
  const stop = new AbortController();
  if (state === 'stopped') stop.abort();
  const call = async ({ report }: ProposedCall) => {
    await report?.next(stop.signal);
    return ENDED;
  };
  return { run: { call } as unknown as Run, stop };
}

function ask(run: Run) {
  const session: AgentSession = { run, reports: createPendingReports() };
  const hub: Pick<RunHub, 'propose' | 'cancelCall'> = {
    propose: (made, proposal) => made.call(proposal),
    cancelCall: () => true,
  };
  const question = {
    proposal: { kind: 'delegated', tool: 'agent.write', input: '{}' },
    hub,
    attend: () => ({ leave: () => undefined }),
    reportName: 'write',
    signal: new AbortController().signal,
  } as unknown as RunQuestion;
  return askRun(session, question);
}

test('an agent hears that it may when its intent is on record', async () => {
  const { run, stop } = runThatIs('going on');
  expect(await ask(run)).toEqual({ kind: 'no_objection' });
  stop.abort();
});

test('SECURITY: T-58 — an agent that was stopped while its intent was being recorded hears no yes', async () => {
  expect(await ask(runThatIs('stopped').run)).toMatchObject({
    kind: 'refused',
    reason: expect.stringContaining('It was stopped.'),
  });
});
