import type { ApprovalEvent, Approvals, Asked, Effect, Question } from '@palyra/approvals';
import { describe, expect } from 'vitest';
import { decideAsShown } from './answer-as-shown.ts';
import { openApprovalsHome, recordInTables } from './approvals-home.ts';
import { approvalsTest } from './approvals-test.ts';
import type { MakeApprovalsPlace } from './describe-approvals-contract.ts';
import { SAMPLE_HOST, sampleQuestion } from './sample-questions.ts';

export function describeReleasing(makePlace: MakeApprovalsPlace): void {
  const test = approvalsTest(makePlace);
  const session = { decision: 'approve', scope: 'session' } as const;

  describe('what an answer releases', () => {
    test('only cards whose own needs the answer meets', async ({ home: { approvals }, clock, ada, bob }) => {
      const first = sampleQuestion({ argv: ['first'], needs: { approvers: 2 } });
      const card = await asked(approvals, first);
      const others = [
        await asked(approvals, sampleQuestion({ argv: ['surer'], needs: { assurance: 'user_verified' } })),
        await asked(approvals, sampleQuestion({ argv: ['shorter'], needs: { holdsMs: 1_000 } })),
        await asked(approvals, sampleQuestion({ argv: ['more'], needs: { approvers: 3 } })),
        await asked(approvals, sampleQuestion({ argv: ['once'], needs: { offer: 'once' } })),
      ];
      const plain = await asked(approvals, sampleQuestion({ argv: ['plain'] }));
      await decideAsShown(approvals, card.approvalId, { ...session, by: ada });
      await clock.advance(1_000);
      const outcome = await decideAsShown(approvals, card.approvalId, { ...session, by: bob });
      expect(outcome).toMatchObject({ kind: 'decided', released: [plain.approvalId] });
      for (const { approvalId } of others) expect(await approvals.get(approvalId)).toMatchObject({ state: 'pending' });
    });

    test('no card that the decider asked, first or later', async ({ home: { approvals }, ada }) => {
      const card = await asked(approvals, sampleQuestion({ argv: ['first'] }));
      const { credential } = ada;
      const own = await asked(approvals, sampleQuestion({ argv: ['own'], credential }));
      const joined = sampleQuestion({ argv: ['joined'] });
      const theirs = await asked(approvals, joined);
      await asked(approvals, { ...joined, key: 'by ada', credential });
      const outcome = await decideAsShown(approvals, card.approvalId, { ...session, by: ada });
      expect(outcome).toMatchObject({ kind: 'decided', released: [] });
      for (const { approvalId } of [own, theirs]) {
        expect(await approvals.get(approvalId)).toMatchObject({ state: 'pending' });
      }
    });

    test('nothing that ended while it was decided, and the record says so too', async ({
      home,
      place,
      clock,
      credentials,
      ada,
    }) => {
      const events: ApprovalEvent[] = [];
      const other = await asked(home.approvals, sampleQuestion({ argv: ['other'] }));
      let isCancelled = false;
      const { commit } = recordInTables(home.database);
      await using slow = await openApprovalsHome(place.location, {
        clock,
        credentials,
        async commit(unit, told) {
          if (!isCancelled && told.some(({ kind }) => kind === 'decided')) {
            isCancelled = true;
            await home.approvals.cancel(other);
          }
          const outcome = await commit(unit, told);
          if (outcome.kind === 'committed') events.push(...told);
          return outcome;
        },
      });
      const card = await asked(slow.approvals, sampleQuestion({ argv: ['first'] }));
      const outcome = await decideAsShown(slow.approvals, card.approvalId, { ...session, by: ada });
      expect(outcome).toMatchObject({ kind: 'decided', released: [] });
      const decided = events.filter((event) => event.kind === 'decided');
      expect(decided.map(({ approvalId }) => approvalId)).toEqual([card.approvalId]);
      expect(await home.approvals.get(other.approvalId)).toMatchObject({ state: 'cancelled' });
    });

    test('all that it covers, however many cards ran out meanwhile', async ({ place, clock, credentials, ada }) => {
      const limits = { pendingPerPrincipal: 3, questionMs: 1_000 };
      await using home = await openApprovalsHome(place.location, { clock, credentials, limits });
      const { approvals } = home;
      for (const argv of [['1'], ['2'], ['3']]) await asked(approvals, sampleQuestion({ argv }));
      await clock.advance(1_000);
      const card = await asked(approvals, sampleQuestion({ argv: ['first'] }));
      const covered = await asked(approvals, sampleQuestion({ argv: ['covered'] }));
      const outcome = await decideAsShown(approvals, card.approvalId, { ...session, by: ada });
      expect(outcome).toMatchObject({ released: [covered.approvalId] });
    });

    test('a rule for always ends the questions it answers, once the policy has it', async ({
      home: { approvals },
      ada,
    }) => {
      const card = await asked(approvals, sampleQuestion({ argv: ['first'] }));
      const question = sampleQuestion({ argv: ['same host'], principal: 'agent:other' });
      const answered = await asked(approvals, question);
      const elsewhere = await asked(approvals, sampleQuestion({ workspace: 'bank' }));
      const another: Effect = { ...SAMPLE_HOST, port: 22 } as Effect;
      const different = await asked(approvals, sampleQuestion({ effects: [another] }));
      const waiting = approvals.wait(answered);
      const outcome = await decideAsShown(approvals, card.approvalId, {
        decision: 'approve',
        scope: 'always',
        by: ada,
      });
      if (outcome.kind !== 'decided' || outcome.alwaysHere === undefined) throw new Error(outcome.kind);
      expect(await approvals.supersede(outcome.alwaysHere)).toEqual([answered.approvalId]);
      expect(await waiting).toMatchObject({ kind: 'superseded' });
      // It permits nothing by itself, and the key is free to ask again.
      expect(await approvals.verifyForRun(question, answered.approvalId)).toMatchObject({ code: 'not_approved' });
      expect(await approvals.ask(question)).toMatchObject({ kind: 'asked', how: 'new' });
      for (const { approvalId } of [elsewhere, different]) {
        expect(await approvals.get(approvalId)).toMatchObject({ state: 'pending' });
      }
    });
  });
}

async function asked(approvals: Approvals, question: Question): Promise<Asked> {
  const outcome = await approvals.ask(question);
  if (outcome.kind === 'refused') throw new Error(outcome.reason);
  return outcome;
}
