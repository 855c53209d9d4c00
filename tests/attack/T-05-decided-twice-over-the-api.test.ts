// T-05: a question is answered twice over the API: the same signed statement again, or a no and a yes at the same time.
import { ApprovalScope, ApprovalService, OutcomeKind, type RecordDecisionResponse, RunService } from '@palyra/api';
import { signedBytes } from '@palyra/approvals';
import { expect, test } from 'vitest';
import { isKind, openStream, propose, start } from '../integration/api-stream.ts';
import { firstQuestion, useApiPlace } from '../integration/api-test-place.ts';

const place = useApiPlace();

async function signedAnswer(approve: boolean) {
  const approvals = place().client(ApprovalService, 'operator');
  const { approvalId, promptSha256 } = await firstQuestion(place());
  const answer = { approve, scope: approve ? ApprovalScope.ONCE : ApprovalScope.UNSPECIFIED, promptSha256 };
  const { statement } = await approvals.draftDecision({ approvalId, answer });
  const signature = new Uint8Array(await place().ada.sign(signedBytes(statement)));
  return () => approvals.recordDecision({ statement, signature });
}

const kindsOf = (outcomes: readonly RecordDecisionResponse[]) => outcomes.map(({ kind }) => kind).toSorted();

test('the same statement counts once, and what it approved runs once', async () => {
  const stream = openStream(place().client(RunService), start());
  stream.say(propose('a', 'palyra.fs.read', { path: '.env' }));
  await stream.until(isKind('approvalRequested', 'a'));
  const record = await signedAnswer(true);
  expect(kindsOf(await Promise.all([record(), record(), record()]))).toEqual(['conflict', 'conflict', 'decided']);
  await stream.until(isKind('attestation', 'a'));
  expect((await record()).kind).toBe('conflict');
  // Another call of the same words is another question.
  stream.say(propose('b', 'palyra.fs.read', { path: '.env' }));
  await stream.until(isKind('approvalRequested', 'b'));
  expect((await record()).kind).toBe('conflict');
  stream.say({ case: 'cancelRun', value: {} });
  const results = (await stream.rest()).filter(isKind('result'));
  expect(results.map(({ event }) => (event.case === 'result' ? event.value.outcome?.kind : undefined))).toEqual([
    OutcomeKind.COMPLETED,
    OutcomeKind.REFUSED,
  ]);
});

test('of a yes and a no at the same time one is taken, and the call does what that one says', async () => {
  const stream = openStream(place().client(RunService), start());
  stream.say(propose('a', 'palyra.fs.read', { path: '.env' }));
  await stream.until(isKind('approvalRequested', 'a'));
  const [yes, no] = [await signedAnswer(true), await signedAnswer(false)];
  const outcomes = await Promise.all([yes(), no()]);
  expect(kindsOf(outcomes)).toEqual(['conflict', 'decided']);
  const { event } = await stream.until(isKind('result', 'a'));
  const isYes = outcomes[0]?.kind === 'decided';
  expect(event.value).toMatchObject({ outcome: { kind: isYes ? OutcomeKind.COMPLETED : OutcomeKind.REFUSED } });
  stream.say({ case: 'endRun', value: {} });
  await stream.rest();
});
