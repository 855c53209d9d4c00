import { GatewayError, type Run } from '@palyra/gateway';
import type { ApprovalId, GrantId } from '@palyra/primitives';
import { decideAsShown } from '@palyra/testkit';
import { expect } from 'vitest';
import {
  type ModelCall,
  type ModelCard,
  type ModelGrant,
  type ModelRun,
  type PolicyName,
  stateOf,
} from './gateway-model.ts';
import {
  approve,
  cancelCall,
  cancelRun,
  changePolicy,
  deny,
  nextDue,
  passTime,
  release,
  revoke,
  type Scope,
} from './gateway-model-acts.ts';
import { attempt, type Play, runOf, settle } from './gateway-play.ts';

export async function playApprove(play: Play, card: ModelCard, scope: Scope): Promise<void> {
  const id = await idOf(play, card);
  const { state } = card;
  const expected = attempt(play, () => approve(play.model, card, scope));
  const deciding = decideAsShown(play.house.approvals, id, { decision: 'approve', scope, by: play.ground.ada });
  if (expected === undefined) return;
  const outcome = await deciding;
  expect(outcome.kind).toBe(expected);
  if (expected === 'conflict') expect(outcome).toMatchObject({ state: stateOf(play.model, { ...card, state }) });
  if (expected === 'refused') expect(outcome).toMatchObject({ code: 'not_offered' });
}

export async function playDeny(play: Play, card: ModelCard): Promise<void> {
  const id = await idOf(play, card);
  const expected = attempt(play, () => deny(play.model, card));
  const deciding = decideAsShown(play.house.approvals, id, { decision: 'deny', by: play.ground.ada });
  if (expected === undefined) return;
  expect((await deciding).kind).toBe(expected);
}

const cardIds = new WeakMap<ModelCard, ApprovalId>();

/** One subject has one open card; what it was called is kept for when it is not open any more. */
async function idOf(play: Play, card: ModelCard): Promise<ApprovalId> {
  for (const real of await play.house.approvals.pending({ limit: 100, principal: play.agent.actor })) {
    const session = play.model.runs.find((run) => runOf(play, run).session === real.session)?.session;
    const asked = play.model.cards.find(
      (each) =>
        each.session === session &&
        stateOf(play.model, each) === 'pending' &&
        JSON.stringify(real.prompt.what.action).includes(each.text),
    );
    if (asked !== undefined) cardIds.set(asked, real.approvalId);
  }
  return cardIds.get(card) as ApprovalId;
}

/** The cards that are open, and how many wait for each, as the model has them. */
export async function expectCards(play: Play): Promise<void> {
  const { model, house, agent } = play;
  const open = model.cards.filter((card) => stateOf(model, card) === 'pending');
  for (const card of open) await idOf(play, card);
  const real = await house.approvals.pending({ limit: 100, principal: agent.actor });
  expect(new Map(real.map(({ approvalId, waiting }) => [approvalId, waiting]))).toEqual(
    new Map(open.map((card) => [cardIds.get(card), card.askers.size])),
  );
}

export async function playRevoke(play: Play, grant: ModelGrant): Promise<void> {
  const { model, house, agent } = play;
  const card = model.cards.find((each) => each.grant === grant) as ModelCard;
  const all = await house.approvals.grants({ principal: agent.actor });
  const grantId = all.find(({ approvalId }) => approvalId === cardIds.get(card))?.grantId as GrantId;
  const expected = revoke(model, grant);
  const outcome = await house.approvals.revoke({ grantId, by: 'user:ada' });
  if (expected !== 'either') expect(outcome.kind).toBe(expected);
}

export async function playPolicy(play: Play, policy: PolicyName, isTold: boolean): Promise<void> {
  const { model, house, ground, agent } = play;
  changePolicy(model, policy, isTold);
  if (!isTold || policy === 'broken') return;
  const says = { plain: 'ask', strict: 'deny', loose: 'allow' } as const;
  const needs = { approvers: 1, assurance: 'same_host_key', offer: 'always' } as const;
  const answer = says[policy] === 'ask' ? ({ kind: 'ask', needs } as const) : ({ kind: says[policy] } as const);
  const mine = ({ principal }: { readonly principal: string }) => principal === agent.actor;
  await house.approvals.redecide({
    policySet: ground.policies[policy].set.digest,
    decide: (grant) => (mine(grant) ? answer : { kind: 'allow' }),
    decideCard: () => answer,
  });
}

export async function playRelease(play: Play, call: ModelCall): Promise<void> {
  const real = play.calls.get(call);
  const isHeld = call.stage === 'executing' && call.tool !== 'nest';
  if (!isHeld) return;
  attempt(play, () => release(play.model, call));
  real?.letGo();
}

export async function playCancelCall(play: Play, call: ModelCall): Promise<void> {
  cancelCall(play.model, call);
  play.calls.get(call)?.stop.abort();
}

export async function playCancelRun(play: Play, run: ModelRun): Promise<void> {
  if (run.isOver) return;
  const real = runOf(play, run);
  const open = real.open ?? (await play.house.gateway.resumeRun(play.agent, real.id));
  cancelRun(play.model, run);
  await open.cancel();
}

/** Nothing is under way after it, and the end of every run is on record. */
export async function playEnd(play: Play): Promise<void> {
  for (const run of play.model.runs) {
    cancelRun(play.model, run);
    const ended = await play.house.gateway.resumeRun(play.agent, runOf(play, run).id).catch((error: unknown) => error);
    if (ended instanceof GatewayError) expect(ended.code).toBe('gateway.run_ended');
    else await (ended as Run).cancel();
  }
  await settle(play);
}

export async function playAdvance(play: Play, ms: number): Promise<void> {
  const { clock } = play.ground;
  const target = clock.now() + ms;
  while (clock.now() < target) {
    const due = nextDue(play.model, target);
    await clock.advance(due - clock.now());
    passTime(play.model, clock.now());
    await settle(play);
  }
}
