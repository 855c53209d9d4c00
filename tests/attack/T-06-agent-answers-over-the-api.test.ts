// T-06: the agent that asked, or a token of the operator, answers over the API: with a draft of its own, or by handing in a
// statement that somebody's key signed.
import { ApprovalScope, ApprovalService, RunService } from '@palyra/api';
import { signedBytes, statementText } from '@palyra/approvals';
import { createIdSource } from '@palyra/primitives';
import { expect, test } from 'vitest';
import { codeOf, type Who } from '../integration/api-place.ts';
import { isKind, openStream, propose, start } from '../integration/api-stream.ts';
import { firstQuestion, useApiPlace } from '../integration/api-test-place.ts';

const place = useApiPlace();

const refusal = (attempt: Promise<unknown>) => attempt.then(() => 'taken', codeOf);

async function withQuestion(body: (approvalId: string, promptSha256: string) => Promise<void>): Promise<void> {
  const stream = openStream(place().client(RunService), start());
  stream.say(propose('a', 'palyra.fs.read', { path: '.env' }));
  await stream.until(isKind('approvalRequested'));
  const { approvalId, promptSha256 } = await firstQuestion(place());
  await body(approvalId, promptSha256);
  const { approval } = await place().client(ApprovalService, 'operator').getApproval({ approvalId });
  expect(approval).toMatchObject({ state: 'pending', votes: 0 });
  stream.say({ case: 'cancelRun', value: {} });
  await stream.rest();
}

const NOT_PEOPLE: readonly Who[] = ['agent', 'stranger', 'token'];

test.each(NOT_PEOPLE)('%s gets no statement, and hands none in, not even one that is signed', async (who) => {
  await withQuestion(async (approvalId, promptSha256) => {
    const approvals = place().client(ApprovalService, who);
    const answer = { approve: true, scope: ApprovalScope.ONCE, promptSha256 };
    expect(await refusal(approvals.draftDecision({ approvalId, answer }))).toBe('daemon.not_permitted');
    const operator = place().client(ApprovalService, 'operator');
    const { statement } = await operator.draftDecision({ approvalId, answer });
    const signature = new Uint8Array(await place().ada.sign(signedBytes(statement)));
    expect(await refusal(approvals.recordDecision({ statement, signature }))).toBe('daemon.not_permitted');
  });
});

test('who decides is who is connected: a statement of another device is not taken, and a draft names no other', async () => {
  await withQuestion(async (approvalId, promptSha256) => {
    const operator = place().client(ApprovalService, 'operator');
    const answer = { approve: true, scope: ApprovalScope.ONCE, promptSha256 };
    const { statement } = await operator.draftDecision({ approvalId, answer });
    const said = JSON.parse(statement) as Parameters<typeof statementText>[0];
    expect(said).toMatchObject({ decider: 'user:ada', credential: place().ada.credential, device: place().ada.device });
    const device = createIdSource().newId('device');
    const forged = statementText({ ...said, credential: device, device });
    const signature = new Uint8Array(await place().ada.sign(signedBytes(forged)));
    expect(await refusal(operator.recordDecision({ statement: forged, signature }))).toBe('daemon.not_permitted');
  });
});

test('an agent sees its own questions and nobody else’s', async () => {
  await withQuestion(async (approvalId) => {
    const [own, other] = [place().client(ApprovalService, 'agent'), place().client(ApprovalService, 'stranger')];
    expect((await own.listApprovals({})).approvals).toHaveLength(1);
    expect((await other.listApprovals({})).approvals).toHaveLength(0);
    expect(await refusal(other.getApproval({ approvalId }))).toBe('daemon.not_permitted');
    expect(await refusal(other.listApprovals({ principal: 'agent:local' }))).toBe('daemon.not_permitted');
  });
});
