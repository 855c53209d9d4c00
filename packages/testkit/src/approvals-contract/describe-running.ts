import { type ApprovalSubject, type Approvals, DEFAULT_APPROVAL_LIMITS, type Question } from '@palyra/approvals';
import { type ApprovalId, sha256Hex } from '@palyra/primitives';
import { describe, expect } from 'vitest';
import { decideAsShown } from './answer-as-shown.ts';
import { openApprovalsHome, requirePermit, usePermit } from './approvals-home.ts';
import { approvalsTest } from './approvals-test.ts';
import type { MakeApprovalsPlace } from './describe-approvals-contract.ts';
import { sampleQuestion } from './sample-questions.ts';

export function describeRunning(makePlace: MakeApprovalsPlace): void {
  const test = approvalsTest(makePlace);

  describe('running what was approved', () => {
    test('a yes for one use is used by one of many calls that race for it', async ({ home, ada }) => {
      const question = sampleQuestion();
      const id = await approve(home.approvals, question, ada);
      const permits = await Promise.all(Array.from({ length: 8 }, () => home.approvals.verifyForRun(question, id)));
      const used = await Promise.all(
        permits.map(async (permit) => permit.kind === 'permitted' && usePermit(home, permit)),
      );
      expect(used.filter(Boolean)).toHaveLength(1);
      expect(await home.approvals.verifyForRun(question, id)).toMatchObject({ code: 'already_used' });
    });

    test('the permit says who approved, how well known, and carries what they signed', async ({ home, ada }) => {
      const question = sampleQuestion();
      const id = await approve(home.approvals, question, ada);
      const permit = await home.approvals.verifyForRun(question, id);
      expect(permit).toMatchObject({
        kind: 'permitted',
        approvalIds: [id],
        grantIds: [],
        scope: 'once',
        approval: { approvers: 1, assurance: 'same_host_key' },
        deciders: [{ person: 'ada', device: 'laptop', assurance: 'same_host_key' }],
      });
      expect(requirePermit(permit).statements).toHaveLength(1);
    });

    const CHANGES: readonly (readonly [string, Partial<ApprovalSubject>])[] = [
      ['arguments', { arguments: { argv: ['curl', 'https://api.example.com/v2'] } }],
      ['bound bytes', { bound: [{ name: '/usr/bin/curl', sha256: sha256Hex('another curl') }] }],
      ['skill', { skill: sha256Hex('skill') }],
      ['sandbox profile', { profile: sha256Hex('wider') }],
      ['workspace', { workspace: 'bank' }],
      ['principal', { principal: 'agent:other' }],
      ['session', { session: 'session 2' }],
      ['action', { action: 'palyra.process.run/2' }],
    ];
    test('with anything else in its subject it is not what was approved', async ({ home, ada }) => {
      const question = sampleQuestion();
      const id = await approve(home.approvals, question, ada);
      for (const [what, change] of CHANGES) {
        const other: Question = { ...question, subject: { ...question.subject, ...change } };
        expect([what, await home.approvals.verifyForRun(other, id)]).toMatchObject([what, { code: 'other_subject' }]);
      }
      expect(await home.approvals.verifyForRun(question, id)).toMatchObject({ kind: 'permitted' });
    });

    test('nor is it when the approver was shown something else', async ({ home, ada }) => {
      const question = sampleQuestion();
      const id = await approve(home.approvals, question, ada);
      const facts = { ...question.facts, hosts: ['api.example.com:443', 'evil.example:443'] };
      expect(await home.approvals.verifyForRun({ ...question, facts }, id)).toMatchObject({ code: 'other_prompt' });
    });

    test('what was asked, denied, expired or cancelled permits nothing', async ({ home, clock, ada }) => {
      const { approvals } = home;
      const questions = ['asked', 'denied', 'cancelled', 'expired'].map((word) => sampleQuestion({ argv: [word] }));
      const ids: ApprovalId[] = [];
      for (const question of questions) {
        const asked = await approvals.ask(question);
        if (asked.kind === 'refused') throw new Error(asked.reason);
        ids.push(asked.approvalId);
        if (ids.length === 2) await decideAsShown(approvals, asked.approvalId, { decision: 'deny', by: ada });
        if (ids.length === 3) await approvals.cancel(asked);
        const permit = await approvals.verifyForRun(question, asked.approvalId);
        expect(permit).toMatchObject({ kind: 'refused', code: 'not_approved' });
      }
      await clock.advance(DEFAULT_APPROVAL_LIMITS.questionMs);
      expect(await approvals.expire()).toBe(2);
      for (const [i, question] of questions.entries()) {
        const permit = await approvals.verifyForRun(question, ids[i] as ApprovalId);
        expect(permit).toMatchObject({ kind: 'refused', code: 'not_approved' });
      }
    });

    test('a yes that nobody used in time does not hold any more', async ({ home, clock, ada }) => {
      const question = sampleQuestion();
      const id = await approve(home.approvals, question, ada);
      await clock.advance(DEFAULT_APPROVAL_LIMITS.onceMs);
      expect(await home.approvals.verifyForRun(question, id)).toMatchObject({ code: 'approval_expired' });
    });

    test('a policy that wants more than it did is not met by the old answer', async ({ home, clock, ada }) => {
      const question = sampleQuestion();
      const id = await approve(home.approvals, question, ada);
      const under = (needs: Partial<Question['needs']>) =>
        home.approvals.verifyForRun({ ...question, needs: { ...question.needs, ...needs } }, id);
      expect(await under({ approvers: 2 })).toMatchObject({ code: 'too_few_people' });
      expect(await under({ assurance: 'separate_device' })).toMatchObject({ code: 'assurance_too_low' });
      await clock.advance(60_000);
      expect(await under({ holdsMs: 60_000 })).toMatchObject({ code: 'stricter_policy' });
      expect(await under({})).toMatchObject({ kind: 'permitted' });
    });

    test('a yes for the session is no answer where the policy wants one each time', async ({ home, ada }) => {
      const question = sampleQuestion();
      const id = await approve(home.approvals, question, ada, 'session');
      const onceOnly: Question = { ...question, needs: { ...question.needs, offer: 'once' } };
      expect(await home.approvals.verifyForRun(onceOnly, id)).toMatchObject({ code: 'stricter_policy' });
      expect(await home.approvals.verifyForRun(question, id)).toMatchObject({ kind: 'permitted' });
    });

    test('a permit says until when it may be used, by what was signed and what is demanded now', async ({
      home,
      clock,
      ada,
    }) => {
      for (const scope of ['once', 'session'] as const) {
        const question = sampleQuestion({ argv: [scope], needs: { holdsMs: 60_000 } });
        const id = await approve(home.approvals, question, ada, scope);
        const permit = requirePermit(await home.approvals.verifyForRun(question, id));
        expect(permit.notAfter).toBe(clock.now() + 60_000);
        await clock.advance(60_000);
        expect(await usePermit(home, permit)).toBe(false);
      }
    });

    test('what is used is told with the permit, for the record', async ({ home, ada }) => {
      const question = sampleQuestion({ key: 'a use' });
      const id = await approve(home.approvals, question, ada);
      const { events } = requirePermit(await home.approvals.verifyForRun(question, id));
      expect(events).toMatchObject([{ kind: 'used', approvalId: id, key: 'a use', principal: 'agent:coder' }]);
      await approve(home.approvals, sampleQuestion({ argv: ['granted'] }), ada, 'session');
      const granted = requirePermit(await home.approvals.covering(sampleQuestion({ argv: ['other'] })));
      expect(granted.events).toMatchObject([{ kind: 'grant', change: 'used', grantId: granted.grantIds[0] }]);
    });

    test('a credential that was revoked since has approved nothing', async ({ home, credentials, ada }) => {
      const question = sampleQuestion();
      const id = await approve(home.approvals, question, ada);
      credentials.revoke('ada laptop');
      expect(await home.approvals.verifyForRun(question, id)).toMatchObject({ code: 'not_approved' });
    });

    test('after a restart an approval is still there, and good for one use', async ({
      place,
      clock,
      credentials,
      ada,
    }) => {
      const question = sampleQuestion({ key: 'resumed' });
      {
        await using before = await openApprovalsHome(place.location, { clock, credentials });
        await approve(before.approvals, question, ada);
      }
      await using after = await openApprovalsHome(place.location, { clock, credentials });
      const asked = await after.approvals.ask(question);
      if (asked.kind === 'refused') throw new Error(asked.reason);
      expect(await after.approvals.wait(asked)).toMatchObject({ kind: 'approved' });
      const permit = await after.approvals.verifyForRun(question, asked.approvalId);
      if (permit.kind === 'refused') throw new Error(permit.reason);
      expect(await usePermit(after, permit)).toBe(true);
      expect(await usePermit(after, permit)).toBe(false);
    });

    test('what the signed record has used up is used up, whatever the rows say', async ({
      place,
      clock,
      credentials,
      ada,
    }) => {
      const used = new Set<string>();
      const isSpent = async (id: string) => used.has(id);
      await using home = await openApprovalsHome(place.location, { clock, credentials, isSpent });
      const question = sampleQuestion();
      const id = await approve(home.approvals, question, ada);
      used.add(id);
      expect(await home.approvals.verifyForRun(question, id)).toMatchObject({ code: 'already_used' });
    });
  });
}

async function approve(
  approvals: Approvals,
  question: Question,
  by: Parameters<Approvals['decide']>[1]['by'],
  scope: 'once' | 'session' = 'once',
): Promise<ApprovalId> {
  const asked = await approvals.ask(question);
  if (asked.kind === 'refused') throw new Error(asked.reason);
  await decideAsShown(approvals, asked.approvalId, { decision: 'approve', scope, by });
  return asked.approvalId;
}
