import {
  commit,
  type GatewayModel,
  LIMITS,
  MOST_CALLS,
  type ModelCall,
  type ModelCard,
  type ModelGrant,
  type ModelRun,
  type Permit,
  type Proposal,
  reach,
  stateOf,
  type ToolName,
} from './gateway-model.ts';

/** The call that there is now or was before; or why there is none. */
export function propose(
  model: GatewayModel,
  proposal: Proposal & { readonly run: ModelRun; readonly parent?: ModelCall },
): ModelCall | 'gateway.run_ended' | 'gateway.key_reused' {
  const { run, key } = proposal;
  if (run.isOver) {
    takeBackQuestions(model, run);
    return 'gateway.run_ended';
  }
  const known = key === undefined ? undefined : run.keys.get(key);
  if (known !== undefined)
    return known.tool === proposal.tool && known.text === proposal.text ? known : 'gateway.key_reused';
  const index = model.calls.length;
  const call: ModelCall = {
    parent: undefined,
    ...proposal,
    index,
    asker: `run ${run.index} ${key === undefined ? `call ${index}` : `key ${key}`}`,
    stage: 'begun',
    code: '',
    isReserved: false,
    isStopped: undefined,
    hasIntent: false,
    decisions: [],
    card: undefined,
    permit: undefined,
    startedAt: 0,
    effects: 0,
  };
  model.calls.push(call);
  if (key !== undefined) run.keys.set(key, call);
  admit(model, call);
  return call;
}

function admit(model: GatewayModel, call: ModelCall): ModelCall {
  const { run, tool, text } = call;
  if (tool === 'unknown') return refuse(model, call, 'gateway.unknown_tool');
  if (tool === 'alone' && call.parent !== undefined) return refuse(model, call, 'gateway.not_beside_others');
  if (text === 'bad') return refuse(model, call, 'gateway.invalid_input');
  const reserved = model.calls.filter((other) => other.run === run && other.isReserved).length;
  if (run.used + reserved >= MOST_CALLS) return refuse(model, call, 'gateway.budget_exhausted');
  if (tool === 'faulty') return refuse(model, call, 'gateway.fault');
  call.isReserved = true;
  decide(model, call);
  return call;
}

function answerOf({ policy }: GatewayModel, { tool }: ModelCall): 'allow' | 'ask' | 'deny' {
  if (policy === 'broken' || tool === 'denied') return 'deny';
  if (tool !== 'asked') return 'allow';
  return ({ plain: 'ask', strict: 'deny', loose: 'allow' } as const)[policy];
}

function decide(model: GatewayModel, call: ModelCall): ModelCall {
  const answer = answerOf(model, call);
  if (answer === 'allow') return permitted(model, call);
  if (answer === 'deny') {
    return refuse(model, call, model.policy === 'broken' ? 'policy.evaluation_failed' : 'policy.forbidden', 'deny');
  }
  const grant = covering(model, call.run.session);
  if (grant === undefined) return ask(model, call);
  call.permit = { grant, until: grant.until };
  decideAgain(model, call);
  return call;
}

/** The newest, as the gateway takes it. */
function covering({ grants, now }: GatewayModel, session: number): ModelGrant | undefined {
  return grants.findLast(
    (grant) => grant.state === 'live' && grant.until > now && (grant.session ?? session) === session,
  );
}

function ask(model: GatewayModel, call: ModelCall): ModelCall {
  const { run, text } = call;
  commit(model, 'decision', () => call.decisions.push('ask'));
  reach(model, 'approval.requested');
  const name = call.asker;
  const known = model.cards.find(({ askers }) => askers.has(name));
  // Of a call with other arguments, whose process died while it was asked about.
  if (known !== undefined && known.text !== text) return refuse(model, call, 'approvals.key_reused');
  if (known !== undefined && serves(model, known)) return wait(model, call, known);
  known?.askers.delete(name);
  const equal = model.cards.filter((card) => card.session === run.session && card.text === text);
  const open = equal.find((card) => stateOf(model, card) === 'pending');
  if (open !== undefined) return wait(model, call, open);
  if (equal.some(({ state, endedAt }) => state === 'denied' && isRecent(model, endedAt)))
    return refuse(model, call, 'approvals.denied_before');
  const card: ModelCard = {
    text,
    session: run.session,
    expiresAt: model.now + LIMITS.questionMs,
    askers: new Set([name]),
    state: 'pending',
    endedAt: 0,
    until: 0,
    grant: undefined,
    isByOther: false,
    isUsed: false,
  };
  commit(model, 'approval.requested', () => model.cards.push(card));
  wait(model, call, card);
  return call;
}

function isRecent({ now }: GatewayModel, endedAt: number): boolean {
  return endedAt > now - LIMITS.denialHoldsMs;
}

/** Whether whoever comes back with its key finds an answer on the card that holds. */
function serves(model: GatewayModel, card: ModelCard): boolean {
  const state = stateOf(model, card);
  if (state === 'pending') return true;
  if (state === 'approved') return permitOf(model, card) !== undefined;
  return state !== 'superseded' && isRecent(model, state === 'expired' ? card.expiresAt : card.endedAt);
}

function permitOf(model: GatewayModel, card: ModelCard): Permit | undefined {
  const { grant = card.isByOther ? covering(model, card.session) : undefined } = card;
  if (grant !== undefined)
    return grant.state === 'live' && grant.until > model.now ? { grant, until: grant.until } : undefined;
  return card.isByOther || card.isUsed || card.until <= model.now ? undefined : { card, until: card.until };
}

function wait(model: GatewayModel, call: ModelCall, card: ModelCard): ModelCall {
  card.askers.add(call.asker);
  call.card = card;
  call.stage = 'asked';
  told(model, call, card);
  return call;
}

/** What the call does that waits for the card. */
export function told(model: GatewayModel, call: ModelCall, card: ModelCard): ModelCall {
  const state = stateOf(model, card);
  if (state === 'pending' || call.stage !== 'asked') return call;
  call.stage = 'begun';
  if (state === 'superseded') return decide(model, call);
  if (state !== 'approved') return refuse(model, call, `gateway.approval_${state}`);
  call.permit = permitOf(model, card);
  if (call.permit === undefined) return refuse(model, call, 'unusable');
  decideAgain(model, call);
  return call;
}

/** Approval is an input to policy, never a way around it. */
function decideAgain(model: GatewayModel, call: ModelCall): ModelCall {
  if (answerOf(model, call) === 'deny') return refuse(model, call, 'gateway.changed_meanwhile', 'deny');
  permitted(model, call);
  return call;
}

function permitted(model: GatewayModel, call: ModelCall): ModelCall {
  // Its parent has the turn, and waits for it.
  if (call.parent !== undefined) return begin(model, call);
  call.run.turns.push(call);
  takeTurns(model, call.run);
  return call;
}

function takeTurns(model: GatewayModel, run: ModelRun): void {
  for (const call of run.turns) {
    const before = run.turns.slice(0, run.turns.indexOf(call)).filter(({ stage }) => stage !== 'ended');
    const mustWait = call.tool === 'alone' ? before.length > 0 : before.some(({ tool }) => tool === 'alone');
    if (call.stage === 'begun' && !call.hasIntent && !mustWait) begin(model, call);
  }
}

function begin(model: GatewayModel, call: ModelCall): ModelCall {
  const { run, permit, tool, text } = call;
  if (call.isStopped !== undefined) return refuse(model, call, 'gateway.cancelled');
  if (permit !== undefined && permit.until <= model.now) return refuse(model, call, 'unusable');
  // The policies may have changed since it waits for its turn.
  const answer = answerOf(model, call);
  if (answer === 'deny' || (answer === 'ask' && permit === undefined))
    return refuse(model, call, 'gateway.changed_meanwhile', answer);
  reach(model, 'intent');
  const isGone = permit?.card?.isUsed === true || (permit?.grant !== undefined && permit.grant.state !== 'live');
  if (isGone) return refuse(model, call, 'unusable');
  commit(model, 'intent', () => {
    run.used += 1;
    call.isReserved = false;
    call.hasIntent = true;
    call.decisions.push('allow');
    if (permit?.card !== undefined) permit.card.isUsed = true;
  });
  call.stage = 'executing';
  call.startedAt = model.now;
  call.effects += 1;
  if (tool === 'nest') nest(model, call);
  else if (text === 'fail') end(model, call, 'gateway.tool_fault');
  else if (!text.startsWith('hold')) end(model, call, 'completed');
  return call;
}

function nest(model: GatewayModel, call: ModelCall): void {
  const { tool, text } = childOf(call);
  const child = propose(model, { run: call.run, parent: call, tool, text });
  if (typeof child === 'string') end(model, call, 'completed');
}

export function childrenOf({ calls }: GatewayModel, call: ModelCall): readonly ModelCall[] {
  return calls.filter(({ parent }) => parent === call);
}

export function childOf({ text }: Proposal): Proposal {
  const [tool, ...rest] = text.split(' ');
  return { tool: tool as ToolName, text: rest.join(' ') };
}

export function refuse(model: GatewayModel, call: ModelCall, code: string, decided?: 'ask' | 'deny'): ModelCall {
  if (decided !== undefined || call.decisions.length === 0)
    commit(model, 'decision', () => call.decisions.push(decided ?? 'deny'));
  const wasOver = call.run.isOver;
  commit(model, 'attestation', () => {
    call.run.refused += 1;
    over(call, code);
    if (call.run.refused >= MOST_CALLS) call.run.isOver = true;
  });
  if (call.run.isOver && !wasOver) endRefused(model, call.run);
  next(model, call);
  return call;
}

/** So many refusals end a run: nobody goes on being asked for it. */
function endRefused(model: GatewayModel, run: ModelRun): void {
  takeBackQuestions(model, run);
  for (const call of model.calls) {
    if (call.run !== run || call.stage !== 'asked') continue;
    call.stage = 'begun';
    refuse(model, call, 'gateway.too_many_refusals');
  }
}

/** Also those that nobody waits for any more, because their process died. */
export function takeBackQuestions(model: GatewayModel, run: ModelRun): void {
  for (const card of model.cards) {
    const gone = [...card.askers].filter((asker) => asker.startsWith(`run ${run.index} `));
    for (const asker of gone) leave(model, card, asker);
  }
}

export function leave(model: GatewayModel, card: ModelCard, asker: string): void {
  if (stateOf(model, card) !== 'pending') return;
  card.askers.delete(asker);
  if (card.askers.size > 0) return;
  commit(model, 'approval.decided', () => Object.assign(card, { state: 'cancelled', endedAt: model.now }));
}

export function end(model: GatewayModel, call: ModelCall, code: string): ModelCall {
  commit(model, 'attestation', () => over(call, code));
  next(model, call);
  return call;
}

function over(call: ModelCall, code: string): void {
  call.stage = 'ended';
  call.code = code;
  call.isReserved = false;
}

function next(model: GatewayModel, { parent, run }: ModelCall): void {
  if (parent !== undefined) end(model, parent, parent.isStopped ?? 'completed');
  else takeTurns(model, run);
}
