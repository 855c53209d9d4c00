// T-06: one person passes for two, or who asked answers. Here at the last yes, with which a rule for always is handed out.
import { type DecideOutcome, type Decider, signedBytes } from '@palyra/approvals';
import { decideAsShown, draftAsShown, sampleQuestion } from '@palyra/testkit';
import { expect, test } from 'vitest';
import { temporaryApprovals } from './temporary-approvals.ts';

const COUNTED = { kind: 'counted', approvers: 1, needed: 2 };

test('the same yes again, while its row has another name, is not a second person', async () => {
  await using home = await temporaryApprovals();
  const { approvalId } = await home.asked(sampleQuestion({ needs: { approvers: 2 } }));
  const text = await draftAsShown(home.approvals, approvalId, { decision: 'approve', scope: 'always', by: home.ada });
  const signed = { text, signature: await home.ada.sign(signedBytes(text)) };
  expect(await home.approvals.record(signed)).toEqual(COUNTED);
  home.writeRows(`update approval_votes set person = 'zoe'`);
  expect(await home.approvals.record(signed)).toMatchObject({ code: 'same_person' });
});

test('nor is a copy of it', async () => {
  await using home = await temporaryApprovals();
  const { approvalId } = await home.asked(sampleQuestion({ needs: { approvers: 3 } }));
  const yes = { decision: 'approve', scope: 'always' } as const;
  await decideAsShown(home.approvals, approvalId, { ...yes, by: home.ada });
  home.writeRows(`insert into approval_votes select approval_id, 'zoe', statement, signature from approval_votes`);
  const second = await decideAsShown(home.approvals, approvalId, { ...yes, by: home.bob });
  expect(second).toEqual({ kind: 'counted', approvers: 2, needed: 3 });
});

test('a yes that does not hold any more is not counted, and may be said again', async () => {
  await using home = await temporaryApprovals();
  const { approvalId } = await home.asked(sampleQuestion({ needs: { approvers: 2, holdsMs: 60_000 } }));
  const say = (by: Decider): Promise<DecideOutcome> =>
    decideAsShown(home.approvals, approvalId, { decision: 'approve', scope: 'always', by });
  expect(await say(home.ada)).toEqual(COUNTED);
  await home.clock.advance(10 * 60_000);
  expect(await say(home.bob)).toEqual(COUNTED);
  expect(await say(home.bob)).toMatchObject({ code: 'same_person' });
  expect(await say(home.ada)).toMatchObject({ kind: 'decided', scope: 'always' });
});

test('two at once, after one that does not hold any more, see each other', async () => {
  await using home = await temporaryApprovals();
  const { approvalId } = await home.asked(sampleQuestion({ needs: { approvers: 2, holdsMs: 60_000 } }));
  const carol = home.credentials.issue('carol phone', { person: 'carol' });
  const say = (by: Decider): Promise<DecideOutcome> =>
    decideAsShown(home.approvals, approvalId, { decision: 'approve', scope: 'once', by });
  await say(home.ada);
  await home.clock.advance(10 * 60_000);
  const both = await Promise.all([say(home.bob), say(carol)]);
  expect(both.map(({ kind }) => kind).toSorted()).toEqual(['counted', 'decided']);
});

test('nor is that of somebody who asks the same by now', async () => {
  await using home = await temporaryApprovals();
  const question = sampleQuestion({ needs: { approvers: 2 } });
  const { approvalId } = await home.asked(question);
  const yes = { decision: 'approve', scope: 'always' } as const;
  await decideAsShown(home.approvals, approvalId, { ...yes, by: home.ada });
  await home.asked({ ...question, key: 'of ada', credential: home.ada.credential });
  expect(await decideAsShown(home.approvals, approvalId, { ...yes, by: home.bob })).toEqual(COUNTED);
});
