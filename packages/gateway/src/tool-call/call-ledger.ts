import {
  type AttestedCall,
  type AttestOutcome,
  type Body,
  type CallerDraft,
  type Journal,
  JournalError,
  type ToolAttestation,
} from '@palyra/journal';
import type { PolicySet } from '@palyra/policy';
import { canonicalJson, type JsonValue } from '@palyra/primitives';
import type { Notification, Step } from '@palyra/storage';
import type { OpenRun } from '../runs/open-run.ts';
import { snapshotOf } from '../tool-call-config.ts';
import type { RecordedDecision } from './call-end.ts';
import type { DecidedCall, OpenedCall } from './decided-call.ts';
import { isCut } from './kept-input.ts';

/** What is said about one call in the journal, in the order in which it is true. The only writer of it. */
export interface CallLedger {
  /** The call as far as it came. */
  readonly call: FollowedCall;
  follow(call: FollowedCall): void;
  readonly hasIntent: boolean;
  /** All of the input, now that the call is not refused out of hand. What was recorded already stays as it is. */
  keepInput(): Promise<Body>;
  /** Keeps what decided, so that entries can refer to it. */
  underWhat(decision: RecordedDecision, policies: DecidingPolicies): Promise<LastDecision>;
  /** Proposal and decision, durable now: a human is about to be asked, or it ends here. */
  decided(decision: RecordedDecision, under: DecidingPolicies): Promise<void>;
  /** The intent with everything that must hold together with it; `conflict` names the step that did not. */
  intended(
    intent: Intent,
  ): Promise<{ readonly kind: 'recorded' } | { readonly kind: 'conflict'; readonly step: number }>;
  /** The same in the commit of the end, which has what else belongs to it; undefined: not any more. */
  withhold(intent: Intent | undefined): void;
  /** Waits for the end of its call; undefined when it is on record, or there is none. */
  readonly withheld: Intent | undefined;
  /** Outcome and attestation in one commit. `conflict`: somebody else has attested it, or a withheld intent does not hold. */
  attest(end: AttestedEnd): Promise<AttestOutcome>;
  /** The last decision that was recorded, and under what. */
  readonly last: LastDecision | undefined;
}

export type FollowedCall = OpenedCall & Partial<DecidedCall>;

export type DecidingPolicies = Pick<PolicySet, 'digest' | 'preset'>;

export interface LastDecision {
  readonly decision: RecordedDecision;
  readonly policySet: string;
  readonly snapshot: string;
}

export interface Intent {
  readonly made: LastDecision;
  readonly executor: string;
  readonly plan: JsonValue;
  /** Entries about the approval that is used up by it. */
  readonly drafts: readonly CallerDraft[];
  readonly steps: readonly Step[];
  readonly notifications: readonly Notification[];
}

export interface AttestedEnd {
  readonly facts: Omit<AttestedCall['facts'], 'anchor'>;
  readonly drafts: readonly CallerDraft[];
  readonly steps: readonly Step[];
}

type Anchor = ToolAttestation['anchor'];

export function openLedger(call: OpenedCall, journal: Journal): CallLedger {
  const { actor } = call.run.caller;
  const ids = idsOf(call);
  let { input } = call;
  const proposal = (): CallerDraft => ({
    kind: 'proposal',
    data: {
      ...ids,
      ...(call.proposed.parent === undefined ? {} : { parent_call_id: call.proposed.parent }),
      input,
    },
  });
  const keepInput = async (): Promise<Body> => {
    if (!isProposed && isCut(input)) input = await journal.bodies.prepare(call.proposed.input);
    return input;
  };
  let isProposed = false;
  let last: LastDecision | undefined;
  let followed: FollowedCall = call;
  let withheld: Intent | undefined;
  const anchors: Partial<Record<Anchor['kind'], Anchor>> = {};

  const append = async (
    drafts: readonly CallerDraft[],
    options: { readonly steps?: readonly Step[]; readonly notifications?: readonly Notification[] } = {},
  ) => {
    const all = isProposed ? drafts : [proposal(), ...drafts];
    const appended = await journal.append(actor, all, options);
    if (appended.kind === 'conflict') return appended;
    isProposed = true;
    all.forEach(({ kind }, at) => {
      const entry = appended.entries[at];
      if (entry !== undefined && (kind === 'intent' || kind === 'decision')) anchors[kind] = { kind, ...entry };
    });
    return appended;
  };
  const intentDrafts = async ({ made, executor, plan, drafts }: Intent): Promise<readonly CallerDraft[]> => {
    const printed = await journal.bodies.prepare(canonicalJson(plan));
    const data = { ...ids, executor, policy_snapshot: made.snapshot, plan: printed };
    return [decisionDraft(made), ...drafts, { kind: 'intent', data }];
  };
  const under = async (decision: RecordedDecision, policies: DecidingPolicies): Promise<LastDecision> => ({
    decision,
    policySet: policies.digest,
    snapshot: await snapshotUnder(call.run, policies, journal),
  });
  const decisionDraft = ({ decision: made, policySet, snapshot }: LastDecision): CallerDraft => ({
    kind: 'decision',
    data: {
      ...ids,
      decision: made.kind,
      reason_code: made.reasonCode,
      policy_ids: [...made.policyIds],
      policy_set: policySet,
      policy_snapshot: snapshot,
    },
  });

  return {
    get call() {
      // Asked several times for one call, and its input changes once at most.
      if (followed.input !== input) followed = { ...followed, input };
      return followed;
    },
    follow(further) {
      followed = further;
    },
    get hasIntent() {
      return anchors.intent !== undefined;
    },
    keepInput,
    underWhat: under,
    get last() {
      return last;
    },
    async decided(decision, policies) {
      withheld = undefined;
      const made = await under(decision, policies);
      if (decision.kind !== 'deny') await keepInput();
      await append([decisionDraft(made)]);
      last = made;
    },
    async intended(intent) {
      withheld = undefined;
      const { made, steps, notifications } = intent;
      const appended = await append(await intentDrafts(intent), { steps, notifications });
      if (appended.kind === 'conflict') return appended;
      last = made;
      return { kind: 'recorded' };
    },
    withhold(intent) {
      withheld = intent;
    },
    get withheld() {
      return withheld;
    },
    async attest({ facts, drafts, steps }) {
      if (withheld !== undefined) {
        const before = [...(isProposed ? [] : [proposal()]), ...(await intentDrafts(withheld))];
        const all = { facts, drafts: [...before, ...drafts], steps: [...withheld.steps, ...steps] };
        const attested = await journal.attest(actor, all);
        if (attested.kind === 'conflict') return attested;
        last = withheld.made;
        withheld = undefined;
        return attested;
      }
      const wanted: Anchor['kind'] = facts.outcome.kind === 'refused' ? 'decision' : 'intent';
      const anchor = anchors[wanted];
      if (anchor === undefined) {
        throw new JournalError('journal.not_recorded', `The ${wanted} of the call is not in the journal.`);
      }
      return journal.attest(actor, { facts: { ...facts, anchor }, drafts, steps });
    },
  };
}

/** The last one of each run: neither its configuration nor the catalogue changes while it is open. */
const snapshots = new WeakMap<OpenRun, { readonly policies: DecidingPolicies; readonly digest: Promise<string> }>();

/** Kept where entries can refer to it: everything that decides what a call of the run may do. */
export function snapshotUnder(
  run: OpenRun,
  policies: DecidingPolicies,
  journal: Pick<Journal, 'putSnapshot'>,
): Promise<string> {
  const known = snapshots.get(run);
  if (known?.policies === policies) return known.digest;
  const digest = journal.putSnapshot(snapshotOf(run, policies));
  snapshots.set(run, { policies, digest });
  // One that could not be written is tried again by the next call.
  digest.catch(() => snapshots.delete(run));
  return digest;
}

/** In every entry of a call. */
export function idsOf({ id, run, toolName }: Pick<OpenedCall, 'id' | 'run' | 'toolName'>): {
  readonly run_id: string;
  readonly session_id: string;
  readonly call_id: string;
  readonly principal: string;
  readonly tool: string;
} {
  return { run_id: run.id, session_id: run.session, call_id: id, principal: run.caller.actor, tool: toolName };
}
