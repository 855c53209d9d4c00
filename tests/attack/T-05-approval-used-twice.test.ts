// T-05: one yes for one use is used by two calls in a race, or a no and a timeout become a yes afterwards.
import { DEFAULT_APPROVAL_LIMITS, type Question, signedBytes } from '@palyra/approvals';
import { decideAsShown, draftAsShown, requirePermit, sampleQuestion, usePermit } from '@palyra/testkit';
import { expect, test } from 'vitest';
import { temporaryApprovals } from './temporary-approvals.ts';

test('two processes with a permit each for the same yes: one begins', async () => {
  await using home = await temporaryApprovals();
  await using other = await home.openAgain();
  for (let round = 0; round < 20; round += 1) {
    const question = sampleQuestion({ argv: [`${round}`] });
    const id = await home.approved(question);
    const homes = [home, other, home, other];
    const permits = await Promise.all(homes.map(({ approvals }) => approvals.verifyForRun(question, id)));
    const used = await Promise.all(permits.map((permit, i) => usePermit(homes[i] ?? home, requirePermit(permit))));
    expect(used.filter(Boolean)).toHaveLength(1);
  }
});

test('a yes that was used is used after a restart, too', async () => {
  await using home = await temporaryApprovals();
  const question = sampleQuestion();
  const id = await home.approved(question);
  const permit = await home.approvals.verifyForRun(question, id);
  if (permit.kind === 'refused') throw new Error(permit.reason);
  expect(await usePermit(home, permit)).toBe(true);
  await using again = await home.openAgain();
  expect(await again.approvals.verifyForRun(question, id)).toMatchObject({ code: 'already_used' });
  expect(await usePermit(again, permit)).toBe(false);
});

test('two calls that share a card share one use of it', async () => {
  await using home = await temporaryApprovals();
  const questions = [sampleQuestion(), sampleQuestion()];
  await home.asked(questions[0] as Question);
  const { approvalId } = await home.asked(questions[1] as Question);
  await decideAsShown(home.approvals, approvalId, { decision: 'approve', scope: 'once', by: home.ada });
  const permits = await Promise.all(questions.map((question) => home.approvals.verifyForRun(question, approvalId)));
  const used = await Promise.all(permits.map((permit) => usePermit(home, requirePermit(permit))));
  expect(used.filter(Boolean)).toHaveLength(1);
});

test('a no stays a no: another answer is a conflict, and the statement is worth nothing later', async () => {
  await using home = await temporaryApprovals();
  const question = sampleQuestion();
  const { approvalId } = await home.asked(question);
  await decideAsShown(home.approvals, approvalId, { decision: 'deny', by: home.ada });
  const late = await decideAsShown(home.approvals, approvalId, { decision: 'approve', scope: 'once', by: home.bob });
  expect(late).toEqual({ kind: 'conflict', state: 'denied' });
  expect(await home.approvals.verifyForRun(question, approvalId)).toMatchObject({ code: 'not_approved' });
});

test('a yes and a no at the same time, in two daemons: one of them holds, and the other is told so', async () => {
  await using home = await temporaryApprovals({ limits: { coolDownAfter: 1_000 } });
  await using other = await home.openAgain();
  for (let round = 0; round < 10; round += 1) {
    const question = sampleQuestion({ argv: [`${round}`] });
    const { approvalId } = await home.asked(question);
    const outcomes = await Promise.all([
      decideAsShown(home.approvals, approvalId, { decision: 'approve', scope: 'once', by: home.ada }),
      decideAsShown(other.approvals, approvalId, { decision: 'deny', by: home.bob }),
    ]);
    expect(outcomes.map(({ kind }) => kind).toSorted()).toEqual(['conflict', 'decided']);
    const hasWonYes = outcomes[0].kind === 'decided';
    const permit = await other.approvals.verifyForRun(question, approvalId);
    expect(permit.kind).toBe(hasWonYes ? 'permitted' : 'refused');
  }
});

test('what ran out cannot be approved, also when nobody has noticed yet', async () => {
  await using home = await temporaryApprovals();
  const question = sampleQuestion();
  const { approvalId } = await home.asked(question);
  const before = await draftAsShown(home.approvals, approvalId, { decision: 'approve', scope: 'once', by: home.ada });
  await home.clock.advance(DEFAULT_APPROVAL_LIMITS.questionMs);
  const signature = await home.ada.sign(signedBytes(before));
  // Signed in time, sent too late.
  expect(await home.approvals.record({ text: before, signature })).toEqual({ kind: 'conflict', state: 'expired' });
  expect(await home.approvals.verifyForRun(question, approvalId)).toMatchObject({ code: 'not_approved' });
});

test('nor does the answer to another question bring back one that ran out', async () => {
  await using home = await temporaryApprovals();
  const late = await home.asked(sampleQuestion({ argv: ['late'] }));
  await home.clock.advance(DEFAULT_APPROVAL_LIMITS.questionMs);
  const { approvalId } = await home.asked(sampleQuestion({ argv: ['in time'] }));
  const outcome = await decideAsShown(home.approvals, approvalId, {
    decision: 'approve',
    scope: 'session',
    by: home.ada,
  });
  expect(outcome).toMatchObject({ kind: 'decided', released: [] });
  expect(await home.approvals.get(late.approvalId)).toMatchObject({ state: 'expired' });
});

test('a permit by a grant that is revoked before the call begins lets nothing begin', async () => {
  await using home = await temporaryApprovals();
  await home.approved(sampleQuestion(), 'session');
  const permit = await home.approvals.covering(sampleQuestion({ argv: ['another'] }));
  if (permit.kind === 'refused') throw new Error(permit.reason);
  const [grantId] = permit.grantIds;
  if (grantId !== undefined) await home.approvals.revoke({ grantId, by: 'ada' });
  expect(await usePermit(home, permit)).toBe(false);
});
