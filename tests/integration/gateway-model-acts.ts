import {
  commit,
  type GatewayModel,
  LIMITS,
  type ModelCall,
  type ModelCard,
  type ModelGrant,
  type ModelRun,
  type PolicyName,
  stateOf,
  TIMEOUT_MS,
} from './gateway-model.ts';
import { childrenOf, end, leave, refuse, takeBackQuestions, told } from './gateway-model-life.ts';

export type Scope = 'once' | 'session' | 'timeboxed' | 'always';

const HOLDS = { once: LIMITS.onceMs, session: LIMITS.sessionMs, timeboxed: LIMITS.timeboxMs };

/** How the answer is taken. */
export function approve(model: GatewayModel, card: ModelCard, scope: Scope): 'decided' | 'conflict' | 'refused' {
  if (stateOf(model, card) !== 'pending') return 'conflict';
  if (scope === 'always') return 'refused';
  const until = model.now + HOLDS[scope];
  const answered = [card];
  commit(model, 'approval.decided', () => {
    Object.assign(card, { state: 'approved', endedAt: model.now, until });
    if (scope === 'once') return;
    const session = scope === 'session' ? card.session : undefined;
    card.grant = { session, until, state: 'live' };
    model.grants.push(card.grant);
    for (const other of model.cards) {
      if (stateOf(model, other) !== 'pending' || (session ?? other.session) !== other.session) continue;
      Object.assign(other, { state: 'approved', endedAt: model.now, isByOther: true });
      answered.push(other);
    }
  });
  tellAll(model, answered);
  return 'decided';
}

export function deny(model: GatewayModel, card: ModelCard): 'decided' | 'conflict' {
  if (stateOf(model, card) !== 'pending') return 'conflict';
  commit(model, 'approval.decided', () => Object.assign(card, { state: 'denied', endedAt: model.now }));
  tellAll(model, [card]);
  return 'decided';
}

function tellAll(model: GatewayModel, cards: readonly ModelCard[]): void {
  for (const call of model.calls)
    if (call.card !== undefined && cards.includes(call.card)) told(model, call, call.card);
}

export function revoke({ now }: GatewayModel, grant: ModelGrant): 'revoked' | 'conflict' | 'either' {
  if (grant.state !== 'live') return 'conflict';
  grant.state = 'revoked';
  // One that ran out may still be in the table as live; that it was revoked, too, changes nothing.
  return grant.until > now ? 'revoked' : 'either';
}

/** Other policies decide from now on; open questions and grants are held to them when `isTold`. */
export function changePolicy(model: GatewayModel, policy: PolicyName, isTold: boolean): void {
  model.policy = policy;
  if (!isTold || policy === 'plain' || policy === 'broken') return;
  if (policy === 'strict')
    for (const grant of model.grants) if (grant.state === 'live' && grant.until > model.now) grant.state = 'fallen';
  const open = model.cards.filter((card) => stateOf(model, card) === 'pending');
  for (const card of open) Object.assign(card, { state: 'superseded', endedAt: model.now });
  tellAll(model, open);
}

/** A held call is let go. */
export function release(model: GatewayModel, call: ModelCall): void {
  if (call.stage === 'executing') end(model, call, 'completed');
}

export function cancelCall(model: GatewayModel, call: ModelCall): void {
  stop(model, [call], 'cancelled');
}

export function cancelRun(model: GatewayModel, run: ModelRun): void {
  run.isOver = true;
  stop(
    model,
    model.calls.filter((call) => call.run === run && call.parent === undefined),
    'cancelled',
  );
  takeBackQuestions(model, run);
}

function stop(model: GatewayModel, calls: readonly ModelCall[], why: 'cancelled' | 'timed_out'): void {
  const under = calls.filter(({ stage }) => stage !== 'ended' && stage !== 'lost');
  for (const call of under) call.isStopped ??= why;
  for (const call of under) {
    if (call.stage === 'asked') {
      call.stage = 'begun';
      for (const asker of call.card?.askers ?? []) {
        if (asker === call.asker) leave(model, call.card as ModelCard, asker);
      }
      refuse(model, call, 'gateway.cancelled');
    } else if (call.stage === 'executing' && call.tool === 'nest') stop(model, childrenOf(model, call), 'cancelled');
    else if (call.stage === 'executing') end(model, call, call.isStopped ?? why);
  }
}

/** When something happens next by itself, if before `target`. */
export function nextDue({ cards, calls, now }: GatewayModel, target: number): number {
  const questions = cards.filter(({ state }) => state === 'pending').map(({ expiresAt }) => expiresAt);
  const executions = calls.filter(({ stage }) => stage === 'executing').map(({ startedAt }) => startedAt + TIMEOUT_MS);
  return Math.min(target, ...[...questions, ...executions].filter((due) => due > now));
}

export function passTime(model: GatewayModel, now: number): void {
  model.now = now;
  const late = model.calls.filter(({ stage, startedAt }) => stage === 'executing' && startedAt + TIMEOUT_MS <= now);
  stop(
    model,
    late.filter(({ tool }) => tool === 'nest'),
    'timed_out',
  );
  stop(model, late, 'timed_out');
  tellAll(
    model,
    model.cards.filter((card) => card.state === 'pending' && card.expiresAt <= now),
  );
}

/** What was begun has an end that is not known; what was not, never was. */
export function crash(model: GatewayModel): readonly ModelCall[] {
  model.fuse = undefined;
  const cut = model.calls.filter(({ stage }) => stage !== 'ended' && stage !== 'lost');
  for (const call of cut) {
    call.stage = call.hasIntent ? 'ended' : 'lost';
    call.isReserved = false;
    if (call.hasIntent) call.code = 'gateway.interrupted';
    else if (call.key !== undefined) call.run.keys.delete(call.key);
  }
  for (const run of model.runs) run.turns = [];
  return cut.filter(({ hasIntent }) => hasIntent);
}
