import type { EgressDenial, Target } from '@palyra/egress';
import type { CallerDraft, Journal } from '@palyra/journal';
import { draftsOf } from '../approval-drafts.ts';
import type { Redactor } from '../redact/create-redactor.ts';
import { type RefusedCall, refusedBy, refusedByFault } from '../tool-call/call-end.ts';
import { idsOf, snapshotUnder } from '../tool-call/call-ledger.ts';
import { policyRequest } from '../tool-call/decide.ts';
import type { DecidedCall } from '../tool-call/decided-call.ts';
import type { PermittedCall } from '../tool-call/permitted-call.ts';
import { type SeekDeps, type Sought, seekApproval } from '../tool-call/seek-approval.ts';
import { planWith } from './connection-plan.ts';
import { connectionQuestion } from './connection-question.ts';
import { denialOf } from './denied-connection.ts';
import { hostAndPort } from './named-network.ts';
import type { OperatorNetwork } from './operator-network.ts';

export type ConnectionVerdict =
  | { readonly kind: 'allowed' }
  | { readonly kind: 'denied'; readonly denial: EgressDenial };

/** May this running call connect there? Held meanwhile. Does not throw: a fault is a no. */
export type DecideConnection = (target: Target, signal: AbortSignal) => Promise<ConnectionVerdict>;

export interface ConnectionDeps extends SeekDeps {
  readonly journal: Pick<Journal, 'append' | 'bodies' | 'putSnapshot'>;
  readonly redactor: Pick<Redactor, 'maskHeld' | 'redactText'>;
  readonly network: OperatorNetwork;
}

/** For one call; `over` is aborted when it ends, and no question of it stays open. */
export type ConnectionDecider = (call: PermittedCall, over: AbortSignal) => DecideConnection;

export function createConnectionDecider(deps: ConnectionDeps): ConnectionDecider {
  return (call, over) => {
    /** Equal questions of one call are one: by what is asked about, so that registries are one, too. */
    const held = new Map<string, Held>();
    return async (target, signal) => {
      const planned: DecidedCall = { ...call, plan: planWith(call.plan, target, deps.network) };
      const about = planned.plan.enforced.hosts.join(' ');
      const forget = () => void held.delete(about);
      const known =
        held.get(about) ?? hold((until) => decide({ ...planned, signal: until }, target, deps), over, forget);
      held.set(about, known);
      const verdict = await known.join(signal);
      // A yes holds for as long as the call runs. A no is asked of policy again; whoever gave it is not asked soon.
      if (verdict.kind === 'denied') forget();
      return verdict;
    };
  };
}

interface Held {
  join(connection: AbortSignal): Promise<ConnectionVerdict>;
}

/** One decision for all connections that wait for it; given up when none of them does any more. */
function hold(
  decideOnce: (signal: AbortSignal) => Promise<ConnectionVerdict>,
  over: AbortSignal,
  forget: () => void,
): Held {
  const nobody = new AbortController();
  const verdict = decideOnce(AbortSignal.any([nobody.signal, over]));
  let waiting = 0;
  const leave = () => {
    waiting -= 1;
    if (waiting > 0) return;
    // Whoever comes now is asked for anew.
    forget();
    nobody.abort();
  };
  return {
    async join(connection) {
      waiting += 1;
      if (connection.aborted) leave();
      connection.addEventListener('abort', leave, { once: true });
      try {
        return await verdict;
      } finally {
        connection.removeEventListener('abort', leave);
      }
    },
  };
}

async function decide(call: DecidedCall, target: Target, deps: ConnectionDeps): Promise<ConnectionVerdict> {
  const sought = await clear(call, target, deps).catch(refusedByFault);
  if (sought.kind === 'cleared') return { kind: 'allowed' };
  return { kind: 'denied', denial: denialOf(sought, target, deps.redactor.redactText) };
}

/** Policy first, then a human where it asks for one; on record before the connection goes on. */
async function clear(call: DecidedCall, target: Target, deps: ConnectionDeps): Promise<Sought> {
  const { policy, clock } = deps;
  const decidedAt = clock.now();
  const under = policy.current();
  // SECURITY: T-02 — what policy denies is denied, and nobody is asked.
  const decision = policy.decide(policyRequest(call, decidedAt));
  if (decision.kind === 'deny') return { ...refusedByPolicy(decision), decision, under };
  const { permit: _used, ...fresh } = call;
  const sought = await seekApproval(
    { ...fresh, decision, under, decidedAt },
    {
      question: async (asking) => ({ kind: 'question', question: connectionQuestion(asking, target, deps) }),
      record: async (asking) => record(asking, target, deps),
      whenParked: 'Run the command again when it is answered.',
    },
    deps,
  );
  if (sought.kind === 'refused') return sought;
  return use(sought.call, target, deps);
}

function refusedByPolicy({
  reasonCode,
  reason,
  fix,
}: {
  readonly reasonCode: string;
  readonly reason: string;
  readonly fix?: string;
}): RefusedCall {
  return { kind: 'refused', code: `policy.${reasonCode}`, message: reason, fix };
}

/** SECURITY: T-05, T-32 — the answer is used up, and the connection on record, before a byte goes there. */
async function use(call: DecidedCall, target: Target, deps: ConnectionDeps): Promise<Sought> {
  const { journal, clock } = deps;
  const { permit, run } = call;
  if (permit !== undefined && clock.now() >= permit.notAfter) {
    return refusedBy('gateway.approval_unusable', 'The approval does not hold any more.', 'Connect again.');
  }
  const drafts = await draftsOf(permit?.events ?? [], (text) => journal.bodies.prepare(text));
  const appended = await journal.append(run.caller.actor, [await draftOf(call, target, deps), ...drafts], {
    steps: permit?.steps ?? [],
    notifications: permit?.notifications ?? [],
  });
  if (appended.kind === 'appended') return { kind: 'cleared', call };
  return refusedBy('gateway.approval_unusable', 'The approval was used up or taken back meanwhile.', 'Connect again.');
}

async function record(call: DecidedCall, target: Target, deps: ConnectionDeps): Promise<void> {
  await deps.journal.append(call.run.caller.actor, [await draftOf(call, target, deps)], {});
}

async function draftOf(call: DecidedCall, target: Target, { journal }: ConnectionDeps): Promise<CallerDraft> {
  const { decision, under, permit } = call;
  const [approval] = permit?.approvalIds ?? [];
  const { tool: _named, ...ids } = idsOf(call);
  return {
    kind: 'connection.decided',
    data: {
      ...ids,
      decision: decision.kind === 'ask' ? 'ask' : 'allow',
      policy_ids: [...decision.policyIds],
      policy_snapshot: await snapshotUnder(call.run, under, journal),
      ...(approval === undefined ? {} : { approval_id: approval }),
      // A body: whoever connects chose the name.
      target: await journal.bodies.prepare(hostAndPort(target)),
    },
  };
}
