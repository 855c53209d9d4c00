import type { Journal } from '@palyra/journal';
import type { ActivePolicies } from '@palyra/policy';
import { type Clock, canonicalJson, type JsonValue } from '@palyra/primitives';
import type { Database } from '@palyra/storage';
import { draftsOf } from '../approval-drafts.ts';
import { callStatements } from '../store/call-statements.ts';
import type { CallRow, GatewaySchema } from '../store/gateway-schema.ts';
import { intendedFacts } from './attested-facts.ts';
import { decidedEvent, type RefusedCall, refusedBy } from './call-end.ts';
import type { CallLedger, FollowedCall } from './call-ledger.ts';
import { policyRequest } from './decide.ts';
import type { PermittedCall } from './permitted-call.ts';
import type { ToolCallSteps } from './run-tool-call.ts';

export interface RecordIntentDeps {
  readonly journal: Journal;
  readonly database: Database<GatewaySchema>;
  readonly policy: Pick<ActivePolicies, 'decide' | 'current'>;
  readonly clock: Clock;
  /** Names this process, so that it finds its open calls again. */
  readonly owner: string;
}

/** One commit: decision, intent, the approval used up, the call counted, and the row by which a restart finds it. */
export function createRecordIntent(deps: RecordIntentDeps): ToolCallSteps['recordIntent'] {
  const { journal, database, owner } = deps;
  const { countCall, insertCall } = callStatements(database);
  return async (call, ledger) => {
    const { run, permit } = call;
    const refusal = whyNotBegun(call, ledger, deps);
    if (refusal !== undefined) return refusal;
    const approvalSteps = permit?.steps ?? [];
    const isFirst = ledger.last === undefined;
    const { intent, input } = await intentOf(call, ledger);
    const intended = input === call.input ? call : { ...call, input };
    const facts = canonicalJson(intendedFacts(intended, intent.made) as unknown as JsonValue);
    const row = {
      ...rowOf(intended, owner),
      state: 'executing',
      facts,
      result: null,
      output: null,
      told: null,
    } as const;
    const recorded = await ledger.intended({
      ...intent,
      drafts: await draftsOf(permit?.events ?? [], (text) => journal.bodies.prepare(text)),
      steps: [...approvalSteps, countCall({ run: run.id }), insertCall(row)],
      notifications: permit?.notifications ?? [],
    });
    if (recorded.kind === 'conflict') return whatConflicts(recorded.step - approvalSteps.length);
    call.reservation?.count();
    tellBegun(call, { isFirst });
    return { kind: 'passed', call };
  };
}

/** The same, to be committed with the end of the call: nothing of it is on record before. */
export function createWithholdIntent(deps: RecordIntentDeps): ToolCallSteps['withholdIntent'] {
  const { countCall } = callStatements(deps.database);
  return async (call, ledger) => {
    // SECURITY: T-05 — what is good for one call is used up before that call runs.
    if (call.tool.changesNothing !== true || call.permit !== undefined) return undefined;
    const refusal = whyNotBegun(call, ledger, deps);
    if (refusal !== undefined) return refusal;
    const { intent } = await intentOf(call, ledger);
    ledger.withhold({ ...intent, drafts: [], steps: [countCall({ run: call.run.id })], notifications: [] });
    return { kind: 'passed', call };
  };
}

function whyNotBegun(call: PermittedCall, ledger: CallLedger, deps: RecordIntentDeps): RefusedCall | undefined {
  ledger.follow(call);
  if (call.signal.aborted) return refusedBy('gateway.cancelled', 'The call was cancelled before it began.');
  // SECURITY: T-05 — its steps do not know the time of their commit.
  if (call.permit !== undefined && deps.clock.now() >= call.permit.notAfter) {
    return refusedBy('gateway.approval_unusable', 'The approval does not hold any more.', 'Propose the call again.');
  }
  return changedInTurn(call, deps);
}

async function intentOf({ decision, under, plan }: PermittedCall, ledger: CallLedger) {
  const made = await ledger.underWhat(decision, under);
  const input = await ledger.keepInput();
  return { input, intent: { made, executor: plan.executor, plan: plan.printed } };
}

/** By which a call is found again, under way or over. */
export function rowOf(
  { id, run, proposed, input, toolName }: FollowedCall,
  owner: string,
): Pick<CallRow, 'id' | 'run' | 'key' | 'input' | 'tool' | 'owner'> {
  return { id, run: run.id, key: proposed.key ?? null, input: input.commitment, tool: toolName, owner };
}

/** How many `tellBegun` tells. */
export function eventsOfBeginning({ isFirst }: { readonly isFirst: boolean }): number {
  return isFirst ? 2 : 1;
}

/** When it is on record. */
export function tellBegun({ proposed, decision }: FollowedCall, { isFirst }: { readonly isFirst: boolean }): void {
  if (isFirst && decision !== undefined) proposed.onEvent?.(decidedEvent(decision));
  proposed.onEvent?.({ kind: 'started' });
}

/** SECURITY: T-11 — it may have waited long for its turn: what the policies of now do not allow does not begin. */
function changedInTurn(call: PermittedCall, { policy, clock }: RecordIntentDeps): RefusedCall | undefined {
  const under = policy.current();
  if (under.digest === call.under.digest) return undefined;
  const request = policyRequest(call, clock.now());
  const approval = call.permit?.approval;
  const decision = policy.decide({
    ...request,
    context: { ...request.context, ...(approval === undefined ? {} : { approval }) },
  });
  if (decision.kind === 'allow') return undefined;
  return {
    ...refusedBy(
      'gateway.changed_meanwhile',
      `The policies changed before its turn came, and do not allow it: ${decision.reason}`,
      'Propose the call again.',
    ),
    decision,
    under,
  };
}

/** Negative: a step of the approval. */
export function whatConflicts(step: number): RefusedCall {
  if (step < 0) {
    return refusedBy(
      'gateway.approval_unusable',
      'The approval was used up or taken back meanwhile.',
      'Propose the call again.',
    );
  }
  if (step > 0) return refusedBy('gateway.call_elsewhere', 'A call with this key is under way, or was made.');
  return refusedBy(
    'gateway.budget_exhausted',
    'The run has made as many calls as it may, or is over.',
    'Begin another run.',
  );
}
