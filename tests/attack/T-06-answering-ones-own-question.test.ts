// T-06: the proposer or an agent answers its own question, or one person with two devices passes for two.
import { decideAsShown, sampleQuestion } from '@palyra/testkit';
import { expect, test } from 'vitest';
import { temporaryApprovals } from './temporary-approvals.ts';

const YES = { decision: 'approve', scope: 'once' } as const;

test('an agent credential decides nothing, whatever it says it is', async () => {
  await using home = await temporaryApprovals();
  const { approvalId } = await home.asked(sampleQuestion());
  const agent = home.credentials.issue('agent token 2', { person: 'ada', kind: 'agent' });
  for (const answer of [YES, { decision: 'deny' } as const]) {
    const outcome = await decideAsShown(home.approvals, approvalId, { ...answer, by: agent });
    expect(outcome).toMatchObject({ kind: 'refused', code: 'agent_cannot_decide' });
  }
  // With ada's name, device and credential in the statement, and its own key.
  const disguised = { ...home.ada, sign: agent.sign };
  expect(await decideAsShown(home.approvals, approvalId, { ...YES, by: disguised })).toMatchObject({
    code: 'bad_signature',
  });
  expect(await home.approvals.get(approvalId)).toMatchObject({ state: 'pending', votes: 0 });
});

test('the credential that proposed does not decide, nor one that joined the card', async () => {
  await using home = await temporaryApprovals();
  const first = home.credentials.issue('first', { person: 'ada' });
  const second = home.credentials.issue('second', { person: 'bob' });
  const { approvalId } = await home.asked(sampleQuestion({ credential: 'first' }));
  await home.asked(sampleQuestion({ credential: 'second' }));
  for (const by of [first, second]) {
    expect(await decideAsShown(home.approvals, approvalId, { ...YES, by })).toMatchObject({ code: 'own_proposal' });
  }
});

test('nor may it run under an answer that it gave to another one with the same question', async () => {
  await using home = await temporaryApprovals();
  const question = sampleQuestion({ credential: 'somebody else' });
  const id = await home.approved(question);
  const asAda = { ...question, credential: 'ada laptop' };
  expect(await home.approvals.verifyForRun(asAda, id)).toMatchObject({ code: 'own_proposal' });
});

test('two people: not two devices of one, not one person twice at once, not one under another name', async () => {
  await using home = await temporaryApprovals();
  const question = sampleQuestion({ needs: { approvers: 2 } });
  const { approvalId } = await home.asked(question);
  const phone = home.credentials.issue('ada phone', { person: 'ada', device: 'phone' });
  const tablet = home.credentials.issue('ada tablet', { person: 'ada', device: 'tablet' });
  await Promise.all([home.ada, phone, tablet].map((by) => decideAsShown(home.approvals, approvalId, { ...YES, by })));
  expect(await home.approvals.get(approvalId)).toMatchObject({ state: 'pending', votes: 1 });
  const asBob = { ...phone, person: 'bob' };
  expect(await decideAsShown(home.approvals, approvalId, { ...YES, by: asBob })).toMatchObject({
    code: 'bad_signature',
  });
  expect(await home.approvals.verifyForRun(question, approvalId)).toMatchObject({ kind: 'refused' });
});

test('people are counted from signatures when the call runs, not from rows', async () => {
  await using home = await temporaryApprovals();
  const question = sampleQuestion({ needs: { approvers: 2 } });
  const { approvalId } = await home.asked(question);
  await decideAsShown(home.approvals, approvalId, { ...YES, by: home.ada });
  // Ada's own vote once more under another name, and the card called approved.
  home.writeRows(
    `insert into approval_votes select approval_id, 'bob', statement, signature from approval_votes where person = 'ada'`,
  );
  home.writeRows(
    `update approvals set state = 'approved', votes = 2, scope = 'once', needs = replace(needs, '"approvers":2', '"approvers":1')`,
  );
  expect(await home.approvals.verifyForRun(question, approvalId)).toMatchObject({ code: 'too_few_people' });
});
