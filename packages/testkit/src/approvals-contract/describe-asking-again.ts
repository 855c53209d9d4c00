import { type Approvals, type Asked, DEFAULT_APPROVAL_LIMITS, type Question } from '@palyra/approvals';
import { describe, expect } from 'vitest';
import { decideAsShown } from './answer-as-shown.ts';
import { requirePermit, usePermit } from './approvals-home.ts';
import { approvalsTest } from './approvals-test.ts';
import type { MakeApprovalsPlace } from './describe-approvals-contract.ts';
import { sampleQuestion } from './sample-questions.ts';

export function describeAskingAgain(makePlace: MakeApprovalsPlace): void {
  const test = approvalsTest(makePlace);

  describe('asking again with the same key', () => {
    test('two that waited for one use: the one who came too late gets a card of its own', async ({ home, ada }) => {
      const { approvals } = home;
      const questions = [sampleQuestion({ key: 'first' }), sampleQuestion({ key: 'second' })] as const;
      const { approvalId } = await asked(approvals, questions[0]);
      expect(await asked(approvals, questions[1])).toMatchObject({ approvalId, how: 'joined' });
      await decideAsShown(approvals, approvalId, { decision: 'approve', scope: 'once', by: ada });
      const permit = requirePermit(await approvals.verifyForRun(questions[0], approvalId));
      expect(await usePermit(home, permit)).toBe(true);
      expect(await approvals.verifyForRun(questions[1], approvalId)).toMatchObject({ code: 'already_used' });
      const again = await asked(approvals, questions[1]);
      expect(again.how).toBe('new');
      expect(again.approvalId).not.toBe(approvalId);
      await decideAsShown(approvals, again.approvalId, { decision: 'approve', scope: 'once', by: ada });
      expect(await approvals.verifyForRun(questions[1], again.approvalId)).toMatchObject({ kind: 'permitted' });
    });

    test('a no is told for a while, and then the key asks anew', async ({ home: { approvals }, clock, ada }) => {
      const question = sampleQuestion({ key: 'mine' });
      const { approvalId } = await asked(approvals, question);
      await decideAsShown(approvals, approvalId, { decision: 'deny', by: ada });
      expect(await asked(approvals, question)).toMatchObject({ approvalId, how: 'resumed' });
      await clock.advance(DEFAULT_APPROVAL_LIMITS.denialHoldsMs);
      expect(await asked(approvals, question)).toMatchObject({ how: 'new' });
    });

    test('so it does long after nobody answered', async ({ home: { approvals }, clock }) => {
      const question = sampleQuestion({ key: 'mine' });
      await asked(approvals, question);
      await clock.advance(DEFAULT_APPROVAL_LIMITS.questionMs);
      expect(await asked(approvals, question)).toMatchObject({ how: 'resumed' });
      await clock.advance(DEFAULT_APPROVAL_LIMITS.denialHoldsMs);
      expect(await asked(approvals, question)).toMatchObject({ how: 'new' });
    });

    test('when the policies demand more now, answered or not', async ({ home: { approvals }, ada }) => {
      for (const isAnswered of [false, true]) {
        const question = sampleQuestion({ key: `answered: ${isAnswered}`, argv: [`${isAnswered}`] });
        const { approvalId } = await asked(approvals, question);
        if (isAnswered) await decideAsShown(approvals, approvalId, { decision: 'approve', scope: 'once', by: ada });
        const stricter = { ...question, needs: { ...question.needs, approvers: 2 } };
        const again = await asked(approvals, stricter);
        expect(again.how).toBe('new');
        expect(await approvals.get(approvalId)).toMatchObject({ state: isAnswered ? 'approved' : 'cancelled' });
        expect((await approvals.get(again.approvalId)).prompt.needs.approvers).toBe(2);
      }
    });

    test('a question with other needs is another card', async ({ home: { approvals } }) => {
      const question = sampleQuestion({ key: 'plain' });
      await asked(approvals, question);
      const stricter = { ...question, key: 'stricter', needs: { ...question.needs, approvers: 2 } };
      expect(await asked(approvals, stricter)).toMatchObject({ how: 'new' });
      expect(await approvals.pending({ limit: 10 })).toMatchObject([{ waiting: 1 }, { waiting: 1 }]);
    });
  });
}

async function asked(approvals: Approvals, question: Question): Promise<Asked> {
  const outcome = await approvals.ask(question);
  if (outcome.kind === 'refused') throw new Error(outcome.reason);
  return outcome;
}
