import type { Journal } from '@palyra/journal';
import { type Clock, canonicalJson, type JsonValue } from '@palyra/primitives';
import type { Database } from '@palyra/storage';
import { draftsOf } from '../approval-drafts.ts';
import { callStatements } from '../store/call-statements.ts';
import type { GatewaySchema } from '../store/gateway-schema.ts';
import { intendedFacts } from './attested-facts.ts';
import { type RefusedCall, refusedBy } from './call-end.ts';
import type { Intent } from './call-ledger.ts';
import { hasLostKey } from './lost-key.ts';
import type { ToolCallSteps } from './run-tool-call.ts';

export interface RecordIntentDeps {
  readonly journal: Journal;
  readonly database: Database<GatewaySchema>;
  readonly clock: Clock;
  /** Names this process, so that it finds its open calls again. */
  readonly owner: string;
}

/** One commit: decision, intent, the approval used up, the call counted, and the row by which a restart finds it. */
export function createRecordIntent(deps: RecordIntentDeps): ToolCallSteps['recordIntent'] {
  const { journal, database, clock, owner } = deps;
  const { countCall, insertCall } = callStatements(database);
  return async (call, ledger) => {
    const { run, proposed, permit, decision, under, plan } = call;
    ledger.follow(call);
    if (call.signal.aborted) return refusedBy('gateway.cancelled', 'The call was cancelled before it began.');
    // SECURITY: T-05 — its steps do not know the time of their commit.
    if (permit !== undefined && clock.now() >= permit.notAfter) {
      return refusedBy('gateway.approval_unusable', 'The approval does not hold any more.', 'Propose the call again.');
    }
    const approvalSteps = permit?.steps ?? [];
    const made = await ledger.underWhat(decision, under);
    const facts = canonicalJson(intendedFacts(call, made) as unknown as JsonValue);
    const row = {
      id: call.id,
      run: run.id,
      key: proposed.key ?? null,
      input: call.input.commitment,
      tool: call.toolName,
      state: 'executing',
      owner,
      facts,
      result: null,
      output: null,
    } as const;
    const intent: Intent = {
      made,
      executor: plan.executor,
      plan: plan.printed,
      drafts: await draftsOf(permit?.events ?? [], (text) => journal.bodies.prepare(text)),
      steps: [...approvalSteps, countCall({ run: run.id }), insertCall(row)],
      notifications: permit?.notifications ?? [],
    };
    const recorded = await ledger.intended(intent).catch(async (error: unknown) => {
      // SECURITY: T-01 — two processes that were given one key at once: one of them begins.
      if (await hasLostKey(call, database)) return { kind: 'key lost' } as const;
      throw error;
    });
    if (recorded.kind === 'key lost') {
      return refusedBy('gateway.call_elsewhere', 'A call with this key was begun by another process.');
    }
    if (recorded.kind === 'conflict') return whatConflicts(recorded.step - approvalSteps.length);
    call.reservation?.count();
    proposed.onEvent?.({ kind: 'started' });
    return { kind: 'passed', call };
  };
}

/** Negative: a step of the approval. */
function whatConflicts(step: number): RefusedCall {
  if (step < 0) {
    return refusedBy(
      'gateway.approval_unusable',
      'The approval was used up or taken back meanwhile.',
      'Propose the call again.',
    );
  }
  return refusedBy(
    'gateway.budget_exhausted',
    'The run has made as many calls as it may, or is over.',
    'Begin another run.',
  );
}
