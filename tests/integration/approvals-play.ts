import {
  type Answer,
  type Approvals,
  type Asked,
  type Decider,
  type DecisionScope,
  type Effect,
  openApprovals,
  type Question,
} from '@palyra/approvals';
import type { ApprovalId, GrantId } from '@palyra/primitives';
import {
  type ApprovalsHome,
  decideAsShown,
  type FakeClock,
  recordInTables,
  SAMPLE_ORIGIN,
  sampleQuestion,
  usePermit,
} from '@palyra/testkit';
import { expect } from 'vitest';
import {
  APPROVERS_OF,
  type ApprovalsModel,
  ASKED_BY,
  ASSURANCE_OF,
  approve,
  askOf,
  createModel,
  deny,
  EFFECT_OF,
  endOpen,
  isCovered,
  LIMITS,
  type ModelCard,
  mayRun,
  stateOf,
  unfit,
} from './approvals-model.ts';

/** The real thing and the model, side by side. Each act is done to both, and what they say is compared. */
export interface Play extends Pick<ApprovalsHome, 'database' | 'credentials'> {
  readonly clock: FakeClock;
  /** Of its own, so that plays share one database. */
  readonly principal: string;
  readonly model: ApprovalsModel;
  readonly people: readonly [Decider, Decider];
  approvals: Approvals;
  waits: Wait[];
  count: number;
}

interface Wait {
  readonly card: ModelCard;
  readonly asked: Asked;
  readonly answer: Promise<Answer | 'closed'>;
}

type Place = Pick<ModelCard, 'subject' | 'session'>;

export async function beginPlay(home: ApprovalsHome, clock: FakeClock, principal: string): Promise<Play> {
  const { database, credentials } = home;
  const ada = credentials.issue('ada key', { person: 'ada' });
  const bob = credentials.issue('bob key', { person: 'bob', assurance: 'separate_device' });
  const approvals = await open({ database, credentials, clock });
  const model = createModel();
  return { database, credentials, clock, principal, model, people: [ada, bob], approvals, waits: [], count: 0 };
}

function open({ database, credentials, clock }: Pick<Play, 'database' | 'credentials' | 'clock'>): Promise<Approvals> {
  const record = recordInTables(database);
  return openApprovals({
    ...record,
    database,
    clock,
    verify: credentials.verify,
    origin: SAMPLE_ORIGIN,
    limits: LIMITS,
  });
}

function questionFor(play: Play, { subject, session }: Place, key?: string): Question {
  const effect: Effect = { kind: 'host', host: `h${EFFECT_OF[subject]}.example`, port: 443, secret: null };
  play.count += 1;
  return sampleQuestion({
    key: key ?? `${play.principal} ${play.count}`,
    principal: play.principal,
    argv: [`subject ${subject}`],
    session: `session ${session}`,
    effects: [effect],
    credential: ASKED_BY[subject] === undefined ? 'agent token' : `${ASKED_BY[subject]} key`,
    needs: {
      offer: 'session',
      approvers: APPROVERS_OF[subject] ?? 1,
      assurance: ASSURANCE_OF[subject] ?? 'same_host_key',
    },
  });
}

export async function playAsk(play: Play, place: Place): Promise<void> {
  const expected = askOf(play.model, place, play.clock.now());
  const outcome = await play.approvals.ask(questionFor(play, place));
  if (typeof expected === 'string' && expected !== 'new') {
    expect(outcome).toMatchObject({ kind: 'refused', code: expected });
    return;
  }
  if (outcome.kind === 'refused') throw new Error(`Refused: ${outcome.code}`);
  expect(outcome.how).toBe(expected === 'new' ? 'new' : 'joined');
  const card = expected === 'new' ? addCard(play.model, place, outcome) : expected;
  expect(outcome.approvalId).toBe(card.id);
  card.askers.add(outcome.key);
  waitFor(play, card, outcome);
}

function addCard(model: ApprovalsModel, { subject, session }: Place, { approvalId: id, expiresAt }: Asked): ModelCard {
  const rest = { endedAt: 0, scope: 'once', grant: undefined, viaGrant: false, isUsed: false } as const;
  const card: ModelCard = { subject, session, id, expiresAt, askers: new Set(), votes: [], state: 'pending', ...rest };
  model.cards.push(card);
  return card;
}

function waitFor(play: Play, card: ModelCard, asked: Asked): void {
  const answer = play.approvals.wait(asked).catch((): 'closed' => 'closed');
  play.waits.push({ card, asked, answer });
}

export async function playApprove(play: Play, card: ModelCard, who: number, scope: DecisionScope): Promise<void> {
  const by = play.people[who % 2] as Decider;
  const now = play.clock.now();
  const outcome = await decideAsShown(play.approvals, card.id as ApprovalId, { decision: 'approve', scope, by });
  const state = stateOf(card, now);
  const why = unfit(card.subject, by.person);
  if (state !== 'pending') expect(outcome).toEqual({ kind: 'conflict', state });
  else if (why !== undefined) expect(outcome).toMatchObject({ code: why });
  else if (card.votes.some(({ person }) => person === by.person))
    expect(outcome).toMatchObject({ code: 'same_person' });
  else {
    const grantId = outcome.kind === 'decided' ? outcome.grantId : undefined;
    const isDone = approve(play.model, card, { person: by.person, scope, now, grantId });
    expect(outcome).toMatchObject(isDone ? { kind: 'decided', scope: card.scope } : { kind: 'counted' });
  }
}

export async function playDeny(play: Play, card: ModelCard, who: number): Promise<void> {
  const by = play.people[who % 2] as Decider;
  const outcome = await decideAsShown(play.approvals, card.id as ApprovalId, { decision: 'deny', by });
  const state = stateOf(card, play.clock.now());
  if (state !== 'pending') expect(outcome).toEqual({ kind: 'conflict', state });
  else if (ASKED_BY[card.subject] === by.person) expect(outcome).toMatchObject({ code: 'own_proposal' });
  else {
    expect(outcome).toMatchObject({ kind: 'decided', state: 'denied' });
    deny(play.model, card, play.clock.now());
  }
}

/** Several calls wait for the same effect on cards of their own, one of them is answered for a time, and all run. */
export async function playCrowd(play: Play, session: number): Promise<void> {
  for (const subject of [0, 1, 1, 4]) await playAsk(play, { subject, session });
  const now = play.clock.now();
  const crowd = play.model.cards.filter((card) => stateOf(card, now) === 'pending' && EFFECT_OF[card.subject] === 0);
  const [first] = crowd;
  // Bob is known well enough for all of them.
  if (first !== undefined) await playApprove(play, first, 1, 'timeboxed');
  for (const card of crowd) await playRun(play, card);
}

/** A yes and a no at once: whoever wins, there is one winner, and the other is told how it ended. */
export async function playRace(play: Play, card: ModelCard): Promise<void> {
  // With a vote already there the outcome depends on whose it was.
  if (card.votes.length > 0 || unfit(card.subject, 'ada') !== undefined) return;
  const [ada, bob] = play.people;
  const now = play.clock.now();
  const before = stateOf(card, now);
  const id = card.id as ApprovalId;
  const [yes, no] = await Promise.all([
    decideAsShown(play.approvals, id, { decision: 'approve', scope: 'once', by: ada }),
    decideAsShown(play.approvals, id, { decision: 'deny', by: bob }),
  ]);
  if (before !== 'pending') {
    const conflict = { kind: 'conflict', state: before };
    expect([yes, no]).toEqual([conflict, conflict]);
    return;
  }
  const isCounted = yes.kind === 'counted' || yes.kind === 'decided';
  if (isCounted) approve(play.model, card, { person: 'ada', scope: 'once', now, grantId: undefined });
  if (no.kind === 'decided') deny(play.model, card, now);
  expect([yes, no].filter(({ kind }) => kind === 'decided')).toHaveLength(1);
  if (no.kind !== 'decided') expect(no).toEqual({ kind: 'conflict', state: 'approved' });
}

export async function playCancel(play: Play, card: ModelCard): Promise<void> {
  const [key] = card.askers;
  if (key === undefined) return;
  await play.approvals.cancel({ principal: play.principal, key });
  if (stateOf(card, play.clock.now()) !== 'pending') return;
  card.askers.delete(key);
  if (card.askers.size > 0) return;
  card.state = 'cancelled';
  card.endedAt = play.clock.now();
}

export async function playRun(play: Play, card: ModelCard): Promise<void> {
  const permit = await play.approvals.verifyForRun(questionFor(play, card), card.id as ApprovalId);
  expect(permit.kind).toBe(mayRun(play.model, card, play.clock.now()) ? 'permitted' : 'refused');
  if (permit.kind === 'refused') return;
  // Two that hold the same permit: a yes for one use lets one of them begin.
  const used = [await usePermit(play, permit), await usePermit(play, permit)];
  expect(used).toEqual([true, permit.grantIds.length > 0]);
  if (card.grant === undefined && !card.viaGrant) card.isUsed = true;
}

export async function playRunGranted(play: Play, place: Place): Promise<void> {
  const permit = await play.approvals.covering(questionFor(play, place));
  expect(permit.kind).toBe(isCovered(play.model, place, play.clock.now()) ? 'permitted' : 'refused');
  if (permit.kind === 'permitted') expect(await usePermit(play, permit)).toBe(true);
}

export async function playRevoke(play: Play, index: number): Promise<void> {
  const grant = play.model.grants[index % Math.max(1, play.model.grants.length)];
  if (grant === undefined) return;
  const outcome = await play.approvals.revoke({ grantId: grant.id as GrantId, by: 'ada' });
  // One that ran out may still be in the table as live; that it was revoked, too, changes nothing.
  if (grant.state !== 'live') expect(outcome.kind).toBe('conflict');
  else if (grant.until > play.clock.now()) expect(outcome).toEqual({ kind: 'revoked' });
  if (grant.state === 'live' && outcome.kind === 'revoked') grant.state = 'revoked';
}

export async function playPolicy(play: Play, effect: number, answer: 'deny' | 'stricter'): Promise<void> {
  play.count += 1;
  const now = play.clock.now();
  const stricter = { kind: 'ask', needs: { approvers: 2, assurance: 'same_host_key', offer: 'session' } } as const;
  const { fell, superseded } = await play.approvals.redecide({
    policySet: `${play.principal} ${play.count}`,
    decide({ grantId }) {
      const mine = play.model.grants.find(({ id }) => id === grantId);
      if (mine?.effect !== effect) return { kind: 'allow' };
      return answer === 'deny' ? { kind: 'deny' } : stricter;
    },
    decideCard({ approvalId, prompt: { needs } }) {
      const mine = play.model.cards.find(({ id }) => id === approvalId);
      const { approvers, assurance, offer } = needs;
      if (EFFECT_OF[mine?.subject ?? -1] !== effect) return { kind: 'ask', needs: { approvers, assurance, offer } };
      return answer === 'deny' ? { kind: 'deny' } : stricter;
    },
  });
  const isEnded = ({ subject }: ModelCard) =>
    EFFECT_OF[subject] === effect && (answer === 'deny' || APPROVERS_OF[subject] !== 2);
  expect(superseded.toSorted()).toEqual(endOpen(play.model, isEnded, now).toSorted());
  const expected = play.model.grants.filter(
    ({ state, until, people, ...grant }) =>
      state === 'live' && until > now && grant.effect === effect && (answer === 'deny' || people.length < 2),
  );
  expect(fell.toSorted()).toEqual(expected.map(({ id }) => id).toSorted());
  for (const grant of expected) grant.state = 'fallen';
}

/** Whoever waited was cut off, comes back with the same key, and finds the same question. */
export async function playRestart(play: Play): Promise<void> {
  play.approvals.close();
  const before = play.waits;
  play.waits = [];
  play.approvals = await open(play);
  for (const wait of before) {
    const { card, asked } = wait;
    const told = await wait.answer;
    if (told !== 'closed') expectTold(play, wait, told);
    else if (card.askers.has(asked.key) && stateOf(card, play.clock.now()) === 'pending') {
      const resumed = await play.approvals.ask(questionFor(play, card, asked.key));
      expect(resumed).toMatchObject({ kind: 'asked', approvalId: card.id, how: 'resumed' });
      waitFor(play, card, resumed as Asked);
    }
  }
}

function expectTold({ clock }: Play, { card, asked }: Wait, told: Answer): void {
  expect(told.kind).toBe(card.askers.has(asked.key) ? stateOf(card, clock.now()) : 'cancelled');
}

export async function expectAgreement({ approvals, clock, model, principal }: Play): Promise<void> {
  const now = clock.now();
  const real = await Promise.all(model.cards.map(({ id }) => approvals.get(id as ApprovalId)));
  expect(real.map(({ state }) => state)).toEqual(model.cards.map((card) => stateOf(card, now)));
  const pending = await approvals.pending({ limit: 100, principal });
  const expected = model.cards.filter((card) => stateOf(card, now) === 'pending');
  // In any order, for ids of the same instant are in order only within one process.
  expect(new Map(pending.map(({ approvalId, waiting }) => [String(approvalId), waiting]))).toEqual(
    new Map(expected.map(({ id, askers }) => [id, askers.size])),
  );
}

/** Whoever waited was told how it ended, and nobody waits for what is over. */
export async function endPlay(play: Play): Promise<void> {
  const { model, clock } = play;
  for (const card of model.cards) while (stateOf(card, clock.now()) === 'pending') await playCancel(play, card);
  await clock.advance(LIMITS.questionMs);
  for (const wait of play.waits) {
    const told = await wait.answer;
    if (told !== 'closed') expectTold(play, wait, told);
  }
  expect(play.approvals.waiting).toBe(0);
  play.approvals.close();
}
