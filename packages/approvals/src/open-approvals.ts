import {
  type ApprovalId,
  type Clock,
  createIdSource,
  type GrantId,
  type IdSource,
  type Sha256Hex,
  systemClock,
} from '@palyra/primitives';
import type { Database, SubscriptionEvent } from '@palyra/storage';
import type { Answer } from './answer.ts';
import { type ApprovalLimits, DEFAULT_APPROVAL_LIMITS } from './approval-limits.ts';
import type { ApprovalContext, CommitWithRecord } from './approval-record.ts';
import { type AskOutcome, ask } from './ask.ts';
import type { Asked } from './asked.ts';
import { cancelAsked, cancelRun } from './cancel.ts';
import { coveringGrants } from './covering-grants.ts';
import type { Decider, DeciderIdentity, VerifySignature } from './credential.ts';
import {
  type AlwaysHere,
  type DecideOutcome,
  decide,
  draftDecision,
  type HumanAnswer,
  recordDecision,
} from './decide.ts';
import type { SignedStatement } from './decision-statement.ts';
import { expireDue } from './expire-due.ts';
import { findApproval, findGrant } from './find-id.ts';
import { forgetEnded } from './forget-ended.ts';
import {
  expireGrants,
  type Grant,
  type GrantFilter,
  listGrants,
  type RedecideInput,
  type RevokeInput,
  type RevokeOutcome,
  redecideGrants,
  revokeGrant,
} from './grants.ts';
import {
  countPending,
  getApproval,
  listPending,
  type PendingPage,
  type PendingToolApproval,
} from './list-approvals.ts';
import type { PermitOutcome } from './permit.ts';
import type { Question } from './question.ts';
import { type RedecideCardsInput, redecideCards } from './redecide-cards.ts';
import { createSpentMemory, keepSpentMs } from './spent-memory.ts';
import { type ApprovalsSchema, ASKED_CHANNEL, ENDED_CHANNEL, SPENT_CHANNEL } from './store/approvals-schema.ts';
import { supersede } from './supersede.ts';
import { toldId } from './told-id.ts';
import { verifyForRun } from './verify-for-run.ts';
import { createWaitingRoom, type WaitOptions } from './waiting-room.ts';
import { createSpentWatch } from './watch-spent.ts';

/** Questions put to humans, their answers, and how long an answer holds. Whatever it throws refuses the call. */
export interface Approvals {
  /** A permit by standing grants that cover all effects, or why there is none. */
  covering(question: Question): Promise<PermitOutcome>;
  /** Puts the question, joins the same one, or resumes that of the key; or says why nobody is asked. */
  ask(question: Question): Promise<AskOutcome>;
  /** Resolves with the answer, wherever it was given. Throws `approvals.closed`, and what storage throws. */
  wait(asked: Asked, options?: WaitOptions): Promise<Answer>;
  /** The only way from an answer to a permit, at the moment when the call runs. */
  verifyForRun(question: Question, approvalId: ApprovalId): Promise<PermitOutcome>;
  cancel(asked: Pick<Asked, 'principal' | 'key'>): Promise<void>;
  cancelRun(run: string): Promise<void>;

  pending(page: PendingPage): Promise<readonly PendingToolApproval[]>;
  /** How many are open. */
  countPending(): Promise<number>;
  /** Throws `approvals.not_found`, as drafting and deciding do. */
  get(id: ApprovalId): Promise<PendingToolApproval>;
  /** By its id, or the last four or more characters of it. Throws `approvals.not_found`, `approvals.ambiguous_id`. */
  findApproval(typed: string): Promise<ApprovalId>;
  findGrant(typed: string): Promise<GrantId>;
  /** The text to sign, for a key that is elsewhere; then `record`. */
  draft(id: ApprovalId, answer: HumanAnswer & { readonly by: DeciderIdentity }): Promise<string>;
  record(signed: SignedStatement): Promise<DecideOutcome>;
  decide(id: ApprovalId, answer: HumanAnswer & { readonly by: Decider }): Promise<DecideOutcome>;
  /** Once the policy has the rule of an `always`: ends the open questions that it answers, which decide anew. */
  supersede(rule: AlwaysHere): Promise<readonly ApprovalId[]>;
  /** For inboxes: a card was opened, joined or ended. */
  watch(
    listener: (event: { readonly kind: 'changed'; readonly id: ApprovalId } | { readonly kind: 'gap' }) => void,
  ): Promise<{
    close(): void;
  }>;

  grants(filter: GrantFilter): Promise<readonly Grant[]>;
  /** Throws `approvals.not_found`. */
  revoke(input: RevokeInput): Promise<RevokeOutcome>;
  /** After a policy change: grants that do not stand fall, and open questions that are not asked so any more end. */
  redecide(input: RedecideInput & RedecideCardsInput): Promise<RedecideOutcome>;

  /** Says of everything whose time is over that it is; for lists and the journal. Returns how many. */
  expire(): Promise<number>;
  /**
   * Removes what ended before this time and no live grant rests on, and what ended at any time and whose prompt was
   * erased from the record. Returns how many.
   */
  forget(before: number): Promise<number>;
  /** How many wait in this process. */
  readonly waiting: number;
  close(): void;
}

export interface RedecideOutcome {
  readonly stood: readonly GrantId[];
  readonly fell: readonly GrantId[];
  /** Open questions that ended; whoever waits decides anew. */
  readonly superseded: readonly ApprovalId[];
}

export interface ApprovalsDeps {
  /** Opened with `APPROVAL_MIGRATIONS` and `approvalPrograms`. */
  readonly database: Database<ApprovalsSchema>;
  /** Of the log of this home. */
  readonly origin: string;
  readonly verify: VerifySignature;
  /** Puts the journal's entries into the same unit; the unit alone unless told. */
  readonly commit?: CommitWithRecord;
  /**
   * Whether the signed record has this approval used (`used`), its grant revoked (`grant`, `revoked`), or its question
   * ended without a yes (`decided` as `denied`, `expired` or `cancelled`).
   * SECURITY: T-46 — there is no default: without the record a row that is set back would hold again after a restart.
   */
  readonly isSpent: (approvalId: string) => Promise<boolean>;
  /**
   * Whether the signed record has this question (`requested`) with the prompt of this digest.
   * SECURITY: T-46 — no default either: a row that was changed before a human looked would be what they grant.
   */
  readonly wasAsked: (approvalId: ApprovalId, prompt: Sha256Hex) => Promise<boolean>;
  /** The questions whose prompt was erased from the signed record; none unless told. */
  readonly erasedPrompts?: () => Promise<readonly string[]>;
  readonly limits?: Partial<ApprovalLimits>;
  readonly clock?: Clock;
  readonly ids?: IdSource;
}

/** What was pending before is pending still. Resolves when every later answer, from any process, will be heard. */
export async function openApprovals(deps: ApprovalsDeps): Promise<Approvals> {
  const { database, origin, verify, clock = systemClock } = deps;
  const limits = { ...DEFAULT_APPROVAL_LIMITS, ...deps.limits };
  const spentForMs = keepSpentMs(limits);
  const context: ApprovalContext = {
    database,
    origin,
    verify,
    clock,
    ids: deps.ids ?? createIdSource({ now: clock.now }),
    commit: deps.commit ?? ((unit) => database.commit(unit)),
    limits,
    spent: createSpentMemory({ isRecorded: deps.isSpent, clock, keepMs: spentForMs }),
    spentForMs,
    wasAsked: deps.wasAsked,
    erasedPrompts: deps.erasedPrompts ?? (() => Promise.resolve([])),
  };
  const room = createWaitingRoom(context);
  const ended = await database.subscribe(ENDED_CHANNEL, room.hear);
  const spent = await database.subscribe(SPENT_CHANNEL, createSpentWatch(context).hear);

  return {
    covering: (question) => coveringGrants(question, context),
    ask: (question) => ask(question, context),
    wait: (asked, options) => room.wait(asked, options),
    verifyForRun: (question, id) => verifyForRun(question, id, context),
    cancel: (asked) => cancelAsked(asked, context),
    cancelRun: (run) => cancelRun(run, context),
    countPending: () => countPending(context),
    pending: (page) => listPending(page, context),
    get: (id) => getApproval(id, context),
    findApproval: (typed) => findApproval(typed, context),
    findGrant: (typed) => findGrant(typed, context),
    draft: (id, answer) => draftDecision(id, answer, context),
    record: (signed) => recordDecision(signed, context),
    decide: (id, answer) => decide(id, answer, context),
    supersede: (rule) => supersede(rule, context),
    watch: (listener) => watchCards(database, listener),
    grants: (filter) => listGrants(filter, context),
    revoke: (input) => revokeGrant(input, context),
    redecide: async (input) => ({
      ...(await redecideGrants(input, context)),
      superseded: await redecideCards(input, context),
    }),
    expire: async () => (await expireDue(context)) + (await expireGrants(context)),
    forget: (before) => forgetEnded(before, context),
    get waiting() {
      return room.size;
    },
    close() {
      ended.close();
      spent.close();
      room.close();
    },
  };
}

async function watchCards(
  database: Database<ApprovalsSchema>,
  listener: Parameters<Approvals['watch']>[0],
): Promise<{ close(): void }> {
  const tell = (event: SubscriptionEvent) => {
    if (event.kind === 'gap') return listener(event);
    const id = toldId(event.payload);
    if (id !== undefined) listener({ kind: 'changed', id });
  };
  const subscriptions = [await database.subscribe(ASKED_CHANNEL, tell), await database.subscribe(ENDED_CHANNEL, tell)];
  return {
    close() {
      for (const subscription of subscriptions) subscription.close();
    },
  };
}
