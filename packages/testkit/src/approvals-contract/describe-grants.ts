import {
  type Approvals,
  DEFAULT_APPROVAL_LIMITS,
  type Decider,
  type Effect,
  type Needs,
  PLAIN_NEEDS,
  type Question,
  type Redecision,
} from '@palyra/approvals';
import { describe, expect } from 'vitest';
import { decideAsShown, type LookedAnswer } from './answer-as-shown.ts';
import { requirePermit, usePermit } from './approvals-home.ts';
import { approvalsTest } from './approvals-test.ts';
import type { MakeApprovalsPlace } from './describe-approvals-contract.ts';
import { SAMPLE_HOST, sampleQuestion } from './sample-questions.ts';

const HOUR = 3_600_000;
/** There are none open where it is passed. */
const decideCard = (): Redecision => ({ kind: 'deny' });
const OTHER_HOST: Effect = { kind: 'host', host: 'pypi.org', port: 443, secret: null };

export function describeGrants(makePlace: MakeApprovalsPlace): void {
  const test = approvalsTest(makePlace);

  describe('grants', () => {
    test('a yes for the session covers the same effect of other commands, in this session only', async ({
      home,
      ada,
    }) => {
      const { approvals } = home;
      await grant(approvals, { scope: 'session' }, ada);
      const other = sampleQuestion({ argv: ['wget', 'https://api.example.com/x'] });
      const permit = await approvals.covering(other);
      expect(permit).toMatchObject({ kind: 'permitted', scope: 'session', approval: { approvers: 1 } });
      expect(await usePermit(home, requirePermit(permit))).toBe(true);
      expect(await approvals.grants({})).toMatchObject([
        {
          state: 'live',
          uses: 1,
          deciders: ['ada'],
          covers: ['connections to api.example.com port 443'],
          session: 'session 1',
        },
      ]);
      for (const elsewhere of [
        sampleQuestion({ session: 'session 2' }),
        sampleQuestion({ workspace: 'bank' }),
        sampleQuestion({ principal: 'agent:other' }),
        sampleQuestion({ effects: [OTHER_HOST] }),
        sampleQuestion({ effects: [SAMPLE_HOST, OTHER_HOST] }),
        sampleQuestion({ effects: [{ ...SAMPLE_HOST, secret: 'token' } as Effect] }),
        sampleQuestion({ effects: [] }),
      ]) {
        expect(await approvals.covering(elsewhere)).toMatchObject({ kind: 'refused', code: 'not_approved' });
      }
    });

    test('a yes for a time holds no longer than the server allows, in every session of the principal', async ({
      home,
      clock,
      ada,
    }) => {
      const { approvals } = home;
      await grant(approvals, { scope: 'timeboxed', ttlMs: 1_000 * HOUR }, ada);
      const elsewhere = sampleQuestion({ session: 'session 2' });
      await clock.advance(DEFAULT_APPROVAL_LIMITS.timeboxMs - 1);
      expect(await approvals.covering(elsewhere)).toMatchObject({ kind: 'permitted', scope: 'timeboxed' });
      await clock.advance(1);
      expect(await approvals.covering(elsewhere)).toMatchObject({ kind: 'refused' });
      expect(await approvals.grants({})).toMatchObject([{ state: 'expired' }]);
      expect(await approvals.expire()).toBe(1);
    });

    test('a path covers what is below it, in its mode, and nothing beside it', async ({ home: { approvals }, ada }) => {
      const path = (name: string, mode: 'read' | 'write' = 'read'): Effect => ({ kind: 'path', path: name, mode });
      await grant(approvals, { scope: 'session', effects: [path('/data/in')] }, ada);
      const covered = async (effect: Effect) => (await approvals.covering(sampleQuestion({ effects: [effect] }))).kind;
      expect(await covered(path('/data/in'))).toBe('permitted');
      expect(await covered(path('/data/in/2026/a.csv'))).toBe('permitted');
      expect(await covered(path('/data/in', 'write'))).toBe('refused');
      expect(await covered(path('/data/inside'))).toBe('refused');
      expect(await covered(path('/data'))).toBe('refused');
    });

    test('a command outside the box is approved each time, for its words bind no bytes', async ({
      home: { approvals },
      ada,
    }) => {
      const argv = (...words: string[]): Effect => ({ kind: 'argv', argv: words, cwd: '/work/shop' });
      for (const effect of [argv('make', 'flash'), argv('/bin/sh', '-c', 'make flash && rm -rf ~')]) {
        const asked = await approvals.ask(sampleQuestion({ effects: [effect], argv: [JSON.stringify(effect)] }));
        if (asked.kind === 'refused') throw new Error(asked.reason);
        for (const scope of ['session', 'timeboxed', 'always'] as const) {
          const outcome = await decideAsShown(approvals, asked.approvalId, { decision: 'approve', scope, by: ada });
          expect(outcome).toMatchObject({ code: 'not_offered' });
        }
      }
    });

    test('two grants together cover a call that needs both, and both are counted', async ({ home, ada }) => {
      const { approvals } = home;
      await grant(approvals, { scope: 'session' }, ada);
      await grant(approvals, { scope: 'session', effects: [OTHER_HOST] }, ada);
      const permit = await approvals.covering(sampleQuestion({ effects: [SAMPLE_HOST, OTHER_HOST] }));
      if (permit.kind === 'refused') throw new Error(permit.reason);
      expect(permit.grantIds).toHaveLength(2);
      expect(await usePermit(home, permit)).toBe(true);
      expect((await approvals.grants({})).map(({ uses }) => uses)).toEqual([1, 1]);
    });

    test('an answer releases every waiting call that it covers', async ({ home: { approvals }, ada }) => {
      const questions = [
        sampleQuestion({ argv: ['1'] }),
        sampleQuestion({ argv: ['2'] }),
        sampleQuestion({ argv: ['3'], effects: [OTHER_HOST] }),
        sampleQuestion({ argv: ['4'], needs: { offer: 'once' } }),
      ];
      const cards = await Promise.all(questions.map((question) => approvals.ask(question)));
      const [first, second] = cards;
      if (first?.kind !== 'asked' || second?.kind !== 'asked') throw new Error('Nobody was asked.');
      const waits = [first, second].map((card) => approvals.wait(card));
      const outcome = await decideAsShown(approvals, first.approvalId, {
        decision: 'approve',
        scope: 'session',
        by: ada,
      });
      expect(outcome).toMatchObject({ kind: 'decided', released: [second.approvalId] });
      expect(await Promise.all(waits)).toMatchObject([
        { kind: 'approved', via: 'answer' },
        { kind: 'approved', via: 'grant' },
      ]);
      const permit = await approvals.verifyForRun(questions[1] as Question, second.approvalId);
      expect(permit).toMatchObject({ kind: 'permitted', scope: 'session' });
      expect(await approvals.pending({ limit: 10 })).toHaveLength(2);
    });

    test('a revoked grant covers nothing, also for a call that holds a permit', async ({ home, ada }) => {
      const { approvals } = home;
      const { grantId, question, approvalId } = await grant(approvals, { scope: 'session' }, ada);
      const permit = requirePermit(await approvals.covering(sampleQuestion()));
      expect(await approvals.revoke({ grantId, by: 'ada' })).toEqual({ kind: 'revoked' });
      expect(await approvals.revoke({ grantId, by: 'ada' })).toEqual({ kind: 'conflict', state: 'revoked' });
      expect(await usePermit(home, permit)).toBe(false);
      expect(await approvals.covering(sampleQuestion())).toMatchObject({ code: 'not_approved' });
      expect(await approvals.verifyForRun(question, approvalId)).toMatchObject({ code: 'revoked' });
    });

    test('after a policy change a grant stands, unless the new policies deny it or want more', async ({
      home,
      clock,
      ada,
    }) => {
      const { approvals } = home;
      const { grantId } = await grant(approvals, { scope: 'session' }, ada);
      const ask = (needs: Partial<Needs>) =>
        ({ kind: 'ask', needs: { ...PLAIN_NEEDS, offer: 'session', ...needs } }) as const;
      expect(await approvals.redecide({ policySet: 'p2', decide: () => ask({}), decideCard })).toEqual({
        stood: [grantId],
        fell: [],
        superseded: [],
      });
      expect(
        await approvals.redecide({ policySet: 'p3', decide: () => ({ kind: 'allow' }), decideCard }),
      ).toMatchObject({
        fell: [],
      });
      expect(await approvals.covering(sampleQuestion({ policySet: 'p3' }))).toMatchObject({ kind: 'permitted' });
      await clock.advance(60_000);
      const stricter = [
        { kind: 'deny' } as const,
        ask({ approvers: 2 }),
        ask({ assurance: 'separate_device' }),
        ask({ offer: 'once' }),
        ask({ holdsMs: 60_000 }),
      ];
      for (const [i, answer] of stricter.entries()) {
        const effect: Effect = { ...SAMPLE_HOST, port: 1_000 + i } as Effect;
        const made = await grant(approvals, { scope: 'session', effects: [effect], policySet: 'p3' }, ada);
        await clock.advance(60_000);
        const outcome = await approvals.redecide({
          policySet: `stricter ${i}`,
          decide: (each) => (each.grantId === made.grantId ? answer : { kind: 'allow' }),
          decideCard,
        });
        expect(outcome.fell).toEqual([made.grantId]);
        expect(await approvals.covering(sampleQuestion({ effects: [effect] }))).toMatchObject({ kind: 'refused' });
      }
    });

    test('also before it is decided again, a use is measured by the needs of the day', async ({
      home: { approvals },
      clock,
      ada,
    }) => {
      await grant(approvals, { scope: 'session' }, ada);
      await clock.advance(60_000);
      const under = async (needs: Partial<Needs>) => approvals.covering(sampleQuestion({ needs }));
      expect(await under({ offer: 'once' })).toMatchObject({ code: 'stricter_policy' });
      for (const needs of [{ approvers: 2 }, { assurance: 'user_verified' }, { holdsMs: 60_000 }] as const) {
        expect(await under(needs)).toMatchObject({ kind: 'refused' });
      }
      expect(await under({})).toMatchObject({ kind: 'permitted' });
    });

    test('what ended long ago is forgotten, but not what a live grant rests on', async ({ home, clock, ada }) => {
      const { approvals } = home;
      const { approvalId } = await grant(approvals, { scope: 'session' }, ada);
      const denied = await approvals.ask(sampleQuestion({ argv: ['denied'], key: 'old', session: 'another' }));
      if (denied.kind === 'refused') throw new Error(denied.reason);
      await decideAsShown(approvals, denied.approvalId, { decision: 'deny', by: ada });
      await approvals.ask(sampleQuestion({ argv: ['open'], effects: [] }));
      await clock.advance(60_000);
      expect(await approvals.forget(clock.now())).toBe(1);
      await expect(approvals.get(denied.approvalId)).rejects.toMatchObject({ code: 'approvals.not_found' });
      expect(await approvals.get(approvalId)).toMatchObject({ state: 'approved' });
      expect(await approvals.covering(sampleQuestion())).toMatchObject({ kind: 'permitted' });
      expect(await approvals.pending({ limit: 10 })).toHaveLength(1);
      await clock.advance(DEFAULT_APPROVAL_LIMITS.sessionMs);
      expect(await approvals.forget(clock.now())).toBe(1);
    });

    test('two people grant what both of them said, and else one use', async ({ home, ada, bob }) => {
      const { approvals } = home;
      const needs = { approvers: 2, offer: 'session' } as const;
      for (const [scopes, grants] of [
        [['session', 'session'], 1],
        [['session', 'once'], 1],
      ] as const) {
        const question = sampleQuestion({ needs, argv: [...scopes] });
        const asked = await approvals.ask(question);
        if (asked.kind === 'refused') throw new Error(asked.reason);
        for (const [i, by] of [ada, bob].entries()) {
          await decideAsShown(approvals, asked.approvalId, { decision: 'approve', scope: scopes[i] ?? 'once', by });
        }
        expect(await approvals.grants({})).toHaveLength(grants);
        expect(await approvals.verifyForRun(question, asked.approvalId)).toMatchObject({
          kind: 'permitted',
          approval: { approvers: 2 },
        });
      }
    });
  });
}

interface Granting {
  readonly scope: 'session' | 'timeboxed';
  readonly ttlMs?: number;
  readonly effects?: readonly Effect[];
  readonly policySet?: string;
}

async function grant(approvals: Approvals, { scope, ttlMs, ...sample }: Granting, by: Decider) {
  const question = sampleQuestion({ argv: [`${scope} ${JSON.stringify(sample.effects ?? [])}`], ...sample });
  const asked = await approvals.ask(question);
  if (asked.kind === 'refused') throw new Error(asked.reason);
  const answer: LookedAnswer = { decision: 'approve', scope, ...(ttlMs === undefined ? {} : { ttlMs }) };
  const outcome = await decideAsShown(approvals, asked.approvalId, { ...answer, by });
  if (outcome.kind !== 'decided' || outcome.grantId === undefined) throw new Error(JSON.stringify(outcome));
  return { grantId: outcome.grantId, question, approvalId: asked.approvalId };
}
