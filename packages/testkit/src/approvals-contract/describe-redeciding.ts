import type { Approvals, Asked, Needs, Question, Redecision } from '@palyra/approvals';
import { describe, expect } from 'vitest';
import { approvalsTest } from './approvals-test.ts';
import type { MakeApprovalsPlace } from './describe-approvals-contract.ts';
import { sampleQuestion } from './sample-questions.ts';

const NO_GRANTS = (): Redecision => ({ kind: 'allow' });

export function describeRedeciding(makePlace: MakeApprovalsPlace): void {
  const test = approvalsTest(makePlace);

  describe('open questions after a policy change', () => {
    test.for([
      ['denied', { kind: 'deny' }],
      ['allowed without asking', { kind: 'allow' }],
      ['for more people', ask({ approvers: 2 })],
      ['for surer ones', ask({ assurance: 'user_verified' })],
      ['offered once only', ask({ offer: 'once' })],
      ['good for a shorter time', ask({ holdsMs: 1_000 })],
    ] as const)(
      'one that is %s now ends, and whoever waits decides anew',
      async ([, answer], { home: { approvals } }) => {
        const question = sampleQuestion();
        const card = await asked(approvals, question);
        const waiting = approvals.wait(card);
        const { superseded } = await approvals.redecide({
          policySet: 'p2',
          decide: NO_GRANTS,
          decideCard: ({ approvalId }) => (approvalId === card.approvalId ? answer : ask({})),
        });
        expect(superseded).toEqual([card.approvalId]);
        expect(await waiting).toMatchObject({ kind: 'superseded' });
        expect(await approvals.verifyForRun(question, card.approvalId)).toMatchObject({ code: 'not_approved' });
        expect(await approvals.ask(question)).toMatchObject({ how: 'new' });
      },
    );

    test('one that is asked as before stays, and is not looked at again under the same policies', async ({
      home: { approvals },
    }) => {
      const { approvalId } = await asked(approvals, sampleQuestion());
      const seen: string[] = [];
      const input = {
        policySet: 'p2',
        decide: NO_GRANTS,
        decideCard: (card: { readonly approvalId: string }) => {
          seen.push(card.approvalId);
          return ask({});
        },
      };
      for (let i = 0; i < 2; i += 1) expect(await approvals.redecide(input)).toMatchObject({ superseded: [] });
      expect(seen).toEqual([approvalId]);
      expect(await approvals.get(approvalId)).toMatchObject({ state: 'pending', waiting: 1 });
    });
  });
}

function ask(needs: Partial<Needs>): Redecision {
  return { kind: 'ask', needs: { approvers: 1, assurance: 'same_host_key', offer: 'always', ...needs } };
}

async function asked(approvals: Approvals, question: Question): Promise<Asked> {
  const outcome = await approvals.ask(question);
  if (outcome.kind === 'refused') throw new Error(outcome.reason);
  return outcome;
}
