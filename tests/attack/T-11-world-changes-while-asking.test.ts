// T-11: while a question is open the daemon restarts, the client goes away, the policy changes or the run is cancelled.
import { DEFAULT_APPROVAL_LIMITS, type Question } from '@palyra/approvals';
import { decideAsShown, sampleQuestion, usePermit } from '@palyra/testkit';
import { expect, test } from 'vitest';
import { temporaryApprovals } from './temporary-approvals.ts';

test('approved while the daemon was down: the call runs once, as it was, and never as another', async () => {
  await using home = await temporaryApprovals();
  const question = sampleQuestion({ key: 'mine' });
  const { approvalId } = await home.asked(question);
  home.approvals.close();
  await using elsewhere = await home.openAgain();
  await decideAsShown(elsewhere.approvals, approvalId, { decision: 'approve', scope: 'once', by: home.ada });

  await using again = await home.openAgain();
  const resumed = await again.approvals.ask(question);
  expect(resumed).toMatchObject({ approvalId, how: 'resumed' });
  const changed: Question = { ...question, subject: { ...question.subject, arguments: { argv: ['rm'] } } };
  await expect(again.approvals.ask(changed)).rejects.toMatchObject({ code: 'approvals.key_reused' });
  expect(await again.approvals.verifyForRun(changed, approvalId)).toMatchObject({ code: 'other_subject' });
  const permits = [
    await again.approvals.verifyForRun(question, approvalId),
    await again.approvals.verifyForRun(question, approvalId),
  ];
  const used = [];
  for (const permit of permits) if (permit.kind === 'permitted') used.push(await usePermit(again, permit));
  expect(used).toEqual([true, false]);
});

test('expired while the daemon was down: it stays expired', async () => {
  await using home = await temporaryApprovals();
  const question = sampleQuestion({ key: 'mine' });
  const { approvalId } = await home.asked(question);
  home.approvals.close();
  await home.clock.advance(DEFAULT_APPROVAL_LIMITS.questionMs);
  await using again = await home.openAgain();
  const late = await decideAsShown(again.approvals, approvalId, { decision: 'approve', scope: 'once', by: home.ada });
  expect(late).toEqual({ kind: 'conflict', state: 'expired' });
  const resumed = await again.approvals.ask(question);
  if (resumed.kind === 'refused') throw new Error(resumed.reason);
  expect(await again.approvals.wait(resumed)).toMatchObject({ kind: 'expired' });
});

test('a policy that became stricter meanwhile is not met by the answer, nor by a grant', async () => {
  await using home = await temporaryApprovals();
  const question = sampleQuestion();
  const id = await home.approved(question, 'session');
  await home.clock.advance(60_000);
  const stricter = [{ approvers: 2 }, { assurance: 'user_verified' as const }, { holdsMs: 60_000 }];
  for (const needs of stricter) {
    const now: Question = { ...question, needs: { ...question.needs, ...needs } };
    expect(await home.approvals.verifyForRun(now, id)).toMatchObject({ kind: 'refused' });
    expect(await home.approvals.covering(now)).toMatchObject({ kind: 'refused' });
  }
  const onceOnly: Question = { ...question, needs: { ...question.needs, offer: 'once' } };
  expect(await home.approvals.covering(onceOnly)).toMatchObject({ code: 'stricter_policy' });
  const { fell } = await home.approvals.redecide({
    policySet: 'p2',
    decide: () => ({ kind: 'deny' }),
    decideCard: () => ({ kind: 'deny' }),
  });
  expect(fell).toHaveLength(1);
  expect(await home.approvals.covering(question)).toMatchObject({ kind: 'refused' });
  expect(await home.approvals.verifyForRun(question, id)).toMatchObject({ code: 'revoked' });
});

test('what was cancelled with its run is not approved afterwards', async () => {
  await using home = await temporaryApprovals();
  const question = sampleQuestion({ run: 'stopped' });
  const card = await home.asked(question);
  const waiting = home.approvals.wait(card);
  await home.approvals.cancelRun('stopped');
  expect(await waiting).toMatchObject({ kind: 'cancelled' });
  const late = await decideAsShown(home.approvals, card.approvalId, {
    decision: 'approve',
    scope: 'once',
    by: home.ada,
  });
  expect(late).toEqual({ kind: 'conflict', state: 'cancelled' });
});

test('a client that goes away leaves its question open, and gets the answer when it is back', async () => {
  await using home = await temporaryApprovals();
  const question = sampleQuestion({ key: 'mine' });
  const card = await home.asked(question);
  const gone = new AbortController();
  const first = home.approvals.wait(card, { signal: gone.signal });
  gone.abort();
  expect(await first).toMatchObject({ kind: 'parked', key: 'mine' });
  await decideAsShown(home.approvals, card.approvalId, { decision: 'deny', reason: 'No.', by: home.ada });
  const resumed = await home.asked(question);
  expect(await home.approvals.wait(resumed)).toMatchObject({ kind: 'denied', reason: 'No.' });
});

test('when the database cannot be read, whoever waits is told, and is not left waiting', async () => {
  await using home = await temporaryApprovals();
  const card = await home.asked(sampleQuestion());
  await home.database.close();
  await expect(home.approvals.wait(card)).rejects.toMatchObject({ code: 'storage.closed' });
});
