import type { ApprovalState, Assurance, DecisionScope } from '@palyra/approvals';

/** What approvals should do, in as few words as it can be said: no database, no signatures, no processes. */
export interface ApprovalsModel {
  readonly cards: ModelCard[];
  readonly grants: ModelGrant[];
  denials: number;
  deniedAt: number;
  coolingUntil: number;
  /** The most calls that waited on other cards and were let go by one answer. */
  mostReleased: number;
}

export interface ModelCard {
  readonly id: string;
  readonly subject: number;
  readonly session: number;
  readonly expiresAt: number;
  readonly askers: Set<string>;
  readonly votes: { readonly person: string; readonly scope: DecisionScope; readonly until: number }[];
  state: ApprovalState;
  endedAt: number;
  scope: DecisionScope;
  grant: ModelGrant | undefined;
  viaGrant: boolean;
  isUsed: boolean;
}

export interface ModelGrant {
  readonly id: string;
  readonly effect: number;
  readonly people: readonly string[];
  readonly session: number | undefined;
  readonly until: number;
  state: 'live' | 'revoked' | 'fallen';
}

export const MINUTE = 60_000;
export const LIMITS = {
  questionMs: 30 * MINUTE,
  onceMs: 60 * MINUTE,
  sessionMs: 90 * MINUTE,
  timeboxMs: 10 * MINUTE,
  pendingPerPrincipal: 4,
  questionsPerWindow: 10_000,
  coolDownAfter: 3,
  denialWindowMs: 30 * MINUTE,
  coolDownMs: 10 * MINUTE,
  denialHoldsMs: 10 * MINUTE,
} as const;

const PLAIN: readonly Assurance[] = Array.from({ length: 6 }, () => 'same_host_key');

/** Four of the six ask for the same effect: one of them wants a surer decider, one is asked with ada's credential. */
export const EFFECT_OF: readonly number[] = [0, 0, 1, 2, 0, 0];
export const APPROVERS_OF: readonly number[] = [1, 1, 1, 2, 1, 1];
export const ASSURANCE_OF: readonly Assurance[] = PLAIN.with(4, 'separate_device');
/** The person whose credential asks, if any. */
export const ASKED_BY: readonly (string | undefined)[] = [undefined, undefined, undefined, undefined, undefined, 'ada'];
const ASSURANCE_OF_PERSON: Readonly<Record<string, Assurance>> = {
  ada: 'same_host_key',
  bob: 'separate_device',
};

/** Why this person may not say yes to this, if so. */
export function unfit(subject: number, person: string): 'own_proposal' | 'assurance_too_low' | undefined {
  if (ASKED_BY[subject] === person) return 'own_proposal';
  const isSure = ASSURANCE_OF[subject] === 'same_host_key' || ASSURANCE_OF_PERSON[person] === 'separate_device';
  return isSure ? undefined : 'assurance_too_low';
}

export function createModel(): ApprovalsModel {
  return { cards: [], grants: [], denials: 0, deniedAt: Number.NEGATIVE_INFINITY, coolingUntil: 0, mostReleased: 0 };
}

export function stateOf(card: ModelCard, now: number): ApprovalState {
  return card.state === 'pending' && card.expiresAt <= now ? 'expired' : card.state;
}

/** What asking gives: the card to join, a new one, or a refusal. */
export function askOf(
  model: ApprovalsModel,
  { subject, session }: Pick<ModelCard, 'subject' | 'session'>,
  now: number,
): ModelCard | 'new' | 'denied_before' | 'cooling_down' | 'too_many_pending' {
  if (model.coolingUntil > now) return 'cooling_down';
  const equal = model.cards.filter((card) => card.subject === subject && card.session === session);
  const open = equal.find((card) => stateOf(card, now) === 'pending');
  if (open !== undefined) return open;
  if (equal.some((card) => card.state === 'denied' && card.endedAt > now - LIMITS.denialHoldsMs))
    return 'denied_before';
  const pending = model.cards.filter((card) => stateOf(card, now) === 'pending').length;
  return pending >= LIMITS.pendingPerPrincipal ? 'too_many_pending' : 'new';
}

export function deny(model: ApprovalsModel, card: ModelCard, now: number): void {
  card.state = 'denied';
  card.endedAt = now;
  model.denials = model.deniedAt > now - LIMITS.denialWindowMs ? model.denials + 1 : 1;
  model.deniedAt = now;
  if (model.denials < LIMITS.coolDownAfter) return;
  model.denials = 0;
  model.coolingUntil = now + LIMITS.coolDownMs;
}

const HOLDS = { once: LIMITS.onceMs, always: LIMITS.onceMs, session: LIMITS.sessionMs, timeboxed: LIMITS.timeboxMs };

/** Whether the card is approved with this vote. `grantId` is the one that a standing yes got. */
export function approve(
  model: ApprovalsModel,
  card: ModelCard,
  { person, scope, now, grantId }: { person: string; scope: DecisionScope; now: number; grantId: string | undefined },
): boolean {
  card.votes.push({ person, scope, until: now + HOLDS[scope] });
  if (card.votes.length < (APPROVERS_OF[card.subject] ?? 1)) return false;
  card.state = 'approved';
  card.endedAt = now;
  card.scope = card.votes.every((vote) => vote.scope === scope) ? scope : 'once';
  model.denials = 0;
  if (card.scope !== 'session' && card.scope !== 'timeboxed') return true;
  card.grant = {
    id: grantId ?? '',
    effect: EFFECT_OF[card.subject] ?? 0,
    people: card.votes.map((vote) => vote.person),
    session: card.scope === 'session' ? card.session : undefined,
    until: Math.min(...card.votes.map(({ until }) => until)),
    state: 'live',
  };
  model.grants.push(card.grant);
  release(model, card.grant, now);
  return true;
}

function release(model: ApprovalsModel, grant: ModelGrant, now: number): void {
  let released = 0;
  for (const card of model.cards) {
    if (stateOf(card, now) !== 'pending' || !isGoodFor(grant, card)) continue;
    card.state = 'approved';
    card.endedAt = now;
    card.viaGrant = true;
    released += card.askers.size;
  }
  model.mostReleased = Math.max(model.mostReleased, released);
}

/** After a policy change: open questions that the new set answers, or asks with other demands, end. */
export function endOpen(model: ApprovalsModel, isEnded: (card: ModelCard) => boolean, now: number): readonly string[] {
  const ended = model.cards.filter((card) => stateOf(card, now) === 'pending' && isEnded(card));
  for (const card of ended) {
    card.state = 'superseded';
    card.endedAt = now;
  }
  return ended.map(({ id }) => id);
}

/** The same for releasing and for using. */
function isGoodFor(grant: ModelGrant, { subject, session }: Pick<ModelCard, 'subject' | 'session'>): boolean {
  if (grant.effect !== EFFECT_OF[subject] || (grant.session !== undefined && grant.session !== session)) return false;
  const found = grant.people.map((person) => unfit(subject, person));
  const fit = found.filter((reason) => reason === undefined).length;
  return !found.includes('own_proposal') && fit >= (APPROVERS_OF[subject] ?? 1);
}

export function isCovered(model: ApprovalsModel, place: Pick<ModelCard, 'subject' | 'session'>, now: number): boolean {
  return model.grants.some((grant) => grant.state === 'live' && grant.until > now && isGoodFor(grant, place));
}

export function mayRun(model: ApprovalsModel, card: ModelCard, now: number): boolean {
  if (card.state !== 'approved') return false;
  if (card.viaGrant) return isCovered(model, card, now);
  if (!card.votes.every(({ until }) => until > now)) return false;
  if (card.grant === undefined) return !card.isUsed;
  return card.grant.state === 'live' && card.grant.until > now;
}
