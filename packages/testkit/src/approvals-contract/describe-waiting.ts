import { type Approvals, type Asked, DEFAULT_APPROVAL_LIMITS, type Question } from '@palyra/approvals';
import { describe, expect, vi } from 'vitest';
import { decideAsShown } from './answer-as-shown.ts';
import { openApprovalsHome, recordInTables } from './approvals-home.ts';
import { approvalsTest } from './approvals-test.ts';
import type { MakeApprovalsPlace } from './describe-approvals-contract.ts';
import { sampleQuestion } from './sample-questions.ts';

export function describeWaiting(makePlace: MakeApprovalsPlace): void {
  const test = approvalsTest(makePlace);

  describe('waiting', () => {
    test('an answer wakes everybody who waits for the card, with the reason of a no', async ({
      home: { approvals },
      clock,
      ada,
    }) => {
      const [first, second] = [await asked(approvals), await asked(approvals)];
      const waits = [approvals.wait(first), approvals.wait(second)];
      await clock.advance(5_000);
      await decideAsShown(approvals, first.approvalId, { decision: 'deny', reason: 'Not on a Friday.', by: ada });
      for (const answer of await Promise.all(waits)) {
        expect(answer).toEqual({
          kind: 'denied',
          reason: 'Not on a Friday.',
          decided: {
            person: 'ada',
            device: 'laptop',
            assurance: 'same_host_key',
            statement: { text: expect.stringContaining('Not on a Friday.'), signature: expect.any(Uint8Array) },
          },
          approvalId: first.approvalId,
          waitedMs: 5_000,
        });
      }
      expect(approvals.waiting).toBe(0);
    });

    test('so does an answer from another process on the same database', async ({
      home,
      place,
      clock,
      credentials,
      ada,
    }) => {
      await using other = await openApprovalsHome(place.location, { clock, credentials });
      const card = await asked(home.approvals);
      const waiting = home.approvals.wait(card);
      await decideAsShown(other.approvals, card.approvalId, { decision: 'approve', scope: 'once', by: ada });
      expect(await waiting).toMatchObject({ kind: 'approved', scope: 'once', via: 'answer' });
    });

    test('the clock ends it for all who wait, and only for those whose time is over', async ({
      home: { approvals },
      clock,
    }) => {
      const early = await asked(approvals, sampleQuestion({ argv: ['early'] }));
      await clock.advance(1_000);
      const late = await asked(approvals, sampleQuestion({ argv: ['late'] }));
      const [earlyWait, lateWait] = [approvals.wait(early), approvals.wait(late)];
      // One alarm, however many wait.
      expect(clock.dueTimes()).toHaveLength(1);
      await clock.advance(DEFAULT_APPROVAL_LIMITS.questionMs - 1_000);
      expect(await earlyWait).toMatchObject({ kind: 'expired' });
      expect(approvals.waiting).toBe(1);
      await vi.waitFor(() => expect(clock.dueTimes().length).toBeGreaterThan(0));
      await clock.advance(1_000);
      expect(await lateWait).toMatchObject({ kind: 'expired' });
      expect(await approvals.get(late.approvalId)).toMatchObject({ state: 'expired' });
    });

    test('cancelling wakes whoever cancelled, and the card stays for the others', async ({ home: { approvals } }) => {
      const [mine, theirs] = [await asked(approvals), await asked(approvals)];
      const [myWait, theirWait] = [approvals.wait(mine), approvals.wait(theirs)];
      await approvals.cancel(mine);
      expect(await myWait).toMatchObject({ kind: 'cancelled' });
      expect(await approvals.pending({ limit: 10 })).toMatchObject([{ waiting: 1 }]);
      await approvals.cancel(theirs);
      expect(await theirWait).toMatchObject({ kind: 'cancelled' });
      expect(await approvals.pending({ limit: 10 })).toEqual([]);
      expect(await approvals.get(mine.approvalId)).toMatchObject({ state: 'cancelled' });
    });

    test('cancelling a run ends all that it waits for, and nothing else', async ({ home: { approvals } }) => {
      const waits = await Promise.all(
        [
          sampleQuestion({ argv: ['1'], run: 'mine' }),
          sampleQuestion({ argv: ['2'], run: 'mine' }),
          sampleQuestion({ argv: ['3'], run: 'other' }),
        ].map((question) => asked(approvals, question)),
      );
      const answers = waits.slice(0, 2).map((card) => approvals.wait(card));
      await approvals.cancelRun('mine');
      for (const answer of await Promise.all(answers)) expect(answer.kind).toBe('cancelled');
      expect(await approvals.pending({ limit: 10 })).toHaveLength(1);
    });

    test('two that cancel at once leave no card that nobody waits for', async ({ home, place, clock, credentials }) => {
      const mine = await asked(home.approvals, sampleQuestion({ run: 'mine' }));
      const theirs = await asked(home.approvals, sampleQuestion({ run: 'theirs' }));
      expect(theirs.approvalId).toBe(mine.approvalId);
      let isFirst = true;
      const { commit } = recordInTables(home.database);
      await using slow = await openApprovalsHome(place.location, {
        clock,
        credentials,
        async commit(unit, events) {
          if (isFirst) {
            isFirst = false;
            await home.approvals.cancelRun('theirs');
          }
          return commit(unit, events);
        },
      });
      await slow.approvals.cancel(mine);
      expect(await home.approvals.pending({ limit: 10 })).toEqual([]);
      expect(await home.approvals.get(mine.approvalId)).toMatchObject({ state: 'cancelled', waiting: 0 });
    });

    test('cancelling a run is one unit for each card, however many of its calls wait for it', async ({
      home,
      place,
      clock,
      credentials,
    }) => {
      const questions = Array.from({ length: 60 }, () => sampleQuestion({ run: 'mine' }));
      await Promise.all(questions.map((question) => asked(home.approvals, question)));
      const other = await asked(home.approvals, sampleQuestion({ argv: ['other'], run: 'mine' }));
      await asked(home.approvals, sampleQuestion({ argv: ['other'], run: 'theirs' }));
      const { commit } = recordInTables(home.database);
      let units = 0;
      await using counted = await openApprovalsHome(place.location, {
        clock,
        credentials,
        commit(unit, events) {
          units += 1;
          return commit(unit, events);
        },
      });
      await counted.approvals.cancelRun('mine');
      expect(units).toBe(2);
      expect(await home.approvals.pending({ limit: 10 })).toMatchObject([{ approvalId: other.approvalId, waiting: 1 }]);
    });

    test('who cancels while another joins leaves the card open', async ({ home: { approvals } }) => {
      for (let round = 0; round < 10; round += 1) {
        const question = sampleQuestion({ argv: [`${round}`] });
        const mine = await asked(approvals, question);
        const [, theirs] = await Promise.all([
          approvals.cancel(mine),
          asked(approvals, { ...question, key: `theirs ${round}` }),
        ]);
        expect(await approvals.get(theirs.approvalId)).toMatchObject({ state: 'pending', waiting: 1 });
      }
    });

    test('a call that may not wait is parked, and the same key resumes it with the answer', async ({
      home,
      clock,
      ada,
    }) => {
      const { approvals } = home;
      const question = sampleQuestion({ key: 'parked' });
      const card = await asked(approvals, question);
      const { approvalId, expiresAt } = card;
      const parked = { kind: 'parked', approvalId, key: 'parked', expiresAt } as const;
      expect(await approvals.wait(card, { parkAfterMs: 0 })).toEqual({ ...parked, waitedMs: 0 });
      const later = approvals.wait(card, { parkAfterMs: 20_000 });
      await clock.advance(20_000);
      expect(await later).toEqual({ ...parked, waitedMs: 20_000 });
      const gone = new AbortController();
      const third = approvals.wait(card, { signal: gone.signal });
      gone.abort();
      expect(await third).toMatchObject({ kind: 'parked' });
      expect(await approvals.get(approvalId)).toMatchObject({ state: 'pending' });

      await decideAsShown(approvals, approvalId, { decision: 'approve', scope: 'once', by: ada });
      const resumed = await asked(approvals, question);
      expect(resumed).toMatchObject({ approvalId, how: 'resumed' });
      expect(await approvals.wait(resumed, { parkAfterMs: 0 })).toMatchObject({ kind: 'approved' });
    });

    test('a question that was pending before a restart is pending after it', async ({
      place,
      clock,
      credentials,
      ada,
    }) => {
      const question = sampleQuestion({ key: 'survivor' });
      const before = await openApprovalsHome(place.location, { clock, credentials });
      const card = await asked(before.approvals, question);
      const cutOff = before.approvals.wait(card).catch((error: unknown) => error);
      await before[Symbol.asyncDispose]();
      expect(await cutOff).toMatchObject({ code: 'approvals.closed' });

      await using after = await openApprovalsHome(place.location, { clock, credentials });
      expect(await after.approvals.pending({ limit: 10 })).toMatchObject([{ approvalId: card.approvalId }]);
      const waiting = after.approvals.wait(await asked(after.approvals, question));
      await decideAsShown(after.approvals, card.approvalId, { decision: 'approve', scope: 'once', by: ada });
      expect(await waiting).toMatchObject({ kind: 'approved', approvalId: card.approvalId });
    });

    test('an inbox hears of every card that opens and ends', async ({ home: { approvals }, ada }) => {
      const heard: string[] = [];
      const watching = await approvals.watch((event) => heard.push(event.kind === 'gap' ? 'gap' : event.id));
      const { approvalId } = await asked(approvals);
      await decideAsShown(approvals, approvalId, { decision: 'deny', by: ada });
      await vi.waitFor(() => expect(heard).toEqual([approvalId, approvalId]));
      watching.close();
    });
  });
}

async function asked(approvals: Approvals, question: Question = sampleQuestion()): Promise<Asked> {
  const outcome = await approvals.ask(question);
  if (outcome.kind === 'refused') throw new Error(outcome.reason);
  return outcome;
}
