import { type AttestOutcome, type Body, type Journal, JournalError, type ToolAttestation } from '@palyra/journal';
import type { ActivePolicies } from '@palyra/policy';
import { canonicalJson, type JsonValue } from '@palyra/primitives';
import type { Database, Step } from '@palyra/storage';
import type { Redactor } from '../redact/create-redactor.ts';
import { type CallStatements, callStatements } from '../store/call-statements.ts';
import type { GatewaySchema } from '../store/gateway-schema.ts';
import { type AttestedFacts, attestedFacts, knownFacts } from './attested-facts.ts';
import { type CallEnd, decidedEvent, type RecordedDecision, type RefusedCall } from './call-end.ts';
import { type CallLedger, idsOf, type LastDecision } from './call-ledger.ts';
import type { OpenedCall } from './decided-call.ts';
import type { LateRecords } from './late-records.ts';
import { outputOf } from './output-of.ts';
import { eventsOfBeginning, rowOf, tellBegun, whatConflicts } from './record-intent.ts';
import type { ToolCallSteps } from './run-tool-call.ts';
import type { ToolCallResult } from './tool-call-result.ts';

export interface AttestDeps {
  readonly journal: Journal;
  readonly database: Database<GatewaySchema>;
  readonly policy: Pick<ActivePolicies, 'current'>;
  readonly redactor: Pick<Redactor, 'redactBytes' | 'redactJson' | 'redactText'>;
  readonly owner: string;
  readonly late: LateRecords;
}

/** One attestation for every end, durable before anybody is told. */
export function createAttest(deps: AttestDeps): ToolCallSteps['attest'] {
  const statements = callStatements(deps.database);
  const attest: ToolCallSteps['attest'] = async (opened, end, ledger) => {
    const { journal, policy, redactor, owner, late } = deps;
    // Also when it cannot be recorded: what did not begin holds nothing of the budget.
    using cleanUp = new DisposableStack();
    cleanUp.defer(() => ledger.call.reservation?.free());
    // Nothing of a refused one is recorded as begun, also when an earlier decision is on record already.
    if (end.kind === 'refused') ledger.withhold(undefined);
    // Also after a question: what is attested of a refusal is the decision that refused, under the policies that made it.
    if (end.kind === 'refused' && (ledger.last === undefined || end.decision !== undefined)) {
      const isUntold = ledger.last === undefined;
      const decision = decisionOf(end);
      await ledger.decided(decision, end.under ?? policy.current());
      if (isUntold) ledger.call.proposed.onEvent?.(decidedEvent(shownDecision(decision, redactor.redactText)));
    }
    // After that: what is kept of its input is known now.
    const { call } = ledger;
    const { withheld } = ledger;
    // A human may have been asked before, and what decides came to allow it meanwhile.
    const isFirst = ledger.last === undefined;
    const last = (withheld?.made ?? ledger.last) as LastDecision;
    const output = end.kind === 'executed' ? outputOf(end.result, redactor) : undefined;
    const all = end.kind === 'executed' ? end.result.ran?.egressAll : undefined;
    let body: Body | undefined;
    let connections: Body | undefined;
    const record = async (
      told: number | null,
    ): Promise<ToolCallResult | Extract<AttestOutcome, { kind: 'conflict' }>> => {
      if (output !== undefined) body ??= await journal.bodies.prepare(canonicalJson(output));
      // SECURITY: T-31 — each connection is on record, however many there were, and the attestation says so of all of them.
      if (all !== undefined) connections ??= await journal.bodies.prepare(connectionsText(all, redactor));
      const facts = {
        ...attestedFacts(call, end, last),
        ...(all === undefined || connections === undefined
          ? {}
          : { egress_all: { count: all.length, sha256: connections.commitment } }),
        ...(body === undefined ? {} : { output_sha256: body.commitment }),
      };
      const result = resultOf(call, end, { last, facts, redact: redactor.redactText });
      const kept = { ...result, attestation: attestedWith(facts) };
      const attested = await ledger.attest({
        facts,
        drafts: [{ kind: 'outcome', data: outcomeData(call, end, { output: body, connections }) }],
        steps: endSteps(ledger, end, { statements, kept, body, owner, told }),
      });
      if (attested.kind === 'conflict') return attested;
      const outcome = { ...result.outcome, ...output };
      return { ...result, outcome, attestation: attestationOf(facts, attested) };
    };
    const before = withheld === undefined ? 0 : eventsOfBeginning({ isFirst });
    const place = isKept(end) ? call.proposed.tellAt?.(before) : undefined;
    // What is not recorded is not told: whoever waits for what comes after it must not wait for it.
    using unlessTold = new DisposableStack();
    unlessTold.defer(() => place?.release());
    const recorded = await record(place?.number ?? null).catch((error: unknown) => {
      // SECURITY: T-32 — something ran: what became of it is recorded as soon as it can be, not only at the next start.
      if (ledger.hasIntent) late.keep(() => record(null));
      throw error;
    });
    if ('kind' in recorded) {
      // Nothing of it is on record, and nobody knows of it: it is refused as it would have been before it was done.
      if (withheld !== undefined) {
        unlessTold.dispose();
        return attest(opened, whatConflicts(recorded.step), ledger);
      }
      throw new JournalError('journal.not_recorded', 'The call was attested by somebody else.');
    }
    unlessTold.move();
    if (withheld !== undefined) {
      call.reservation?.count();
      tellBegun(call, { isFirst });
    }
    if (end.kind === 'refused' && !ledger.hasIntent && !isParked(call, end)) call.run.budget.refuse();
    return recorded;
  };
  return attest;
}

/** A human was asked, and the same key asks again: not refused, and not over. */
function isParked({ proposed }: OpenedCall, end: CallEnd): boolean {
  return end.kind === 'refused' && end.code === 'gateway.approval_pending' && proposed.key !== undefined;
}

function decisionOf({ decision, code, message, fix }: RefusedCall): RecordedDecision {
  return (
    decision ?? {
      kind: 'deny',
      policyIds: [],
      reasonCode: code,
      reason: message,
      ...(fix === undefined ? {} : { fix }),
    }
  );
}

function shownDecision(decision: RecordedDecision, redact: Told['redact']): RecordedDecision {
  const { reason, fix } = decision;
  return { ...decision, reason: redact(reason), ...(fix === undefined ? {} : { fix: redact(fix) }) };
}

function connectionsText(all: ToolAttestation['egress'], { redactJson }: Pick<Redactor, 'redactJson'>): string {
  return canonicalJson(redactJson(all.map((each): JsonValue => ({ ...each }))));
}

interface OutcomeBodies {
  readonly output: Body | undefined;
  readonly connections: Body | undefined;
}

function outcomeData(call: OpenedCall, end: CallEnd, { output, connections }: OutcomeBodies) {
  const { kind, exitCode } = end.kind === 'refused' ? { kind: 'refused' as const, exitCode: undefined } : end.result;
  const code = end.kind === 'refused' ? end.code : 'code' in end.result ? end.result.code : undefined;
  return {
    ...idsOf(call),
    outcome: kind,
    ...(code === undefined ? {} : { code }),
    ...(exitCode === undefined ? {} : { exit_code: exitCode }),
    ...(output === undefined ? {} : { output }),
    ...(connections === undefined ? {} : { connections }),
  };
}

interface Told {
  readonly last: LastDecision;
  readonly facts: AttestedFacts;
  /** SECURITY: T-24 — sentences of tools and of other servers may say what they should not. */
  redact(text: string): string;
}

type Unattested = Omit<ToolCallResult, 'attestation'>;

function resultOf(call: OpenedCall, end: CallEnd, { last, facts, redact }: Told): Unattested {
  const { decision } = last;
  const { approval } = facts;
  const said = end.kind === 'refused' ? end : end.result;
  return {
    run_id: call.run.id,
    call_id: call.id,
    tool: call.toolName,
    decision: {
      kind: decision.kind,
      policy_ids: decision.policyIds,
      reason_code: decision.reasonCode,
      reason: redact(decision.reason),
      ...(decision.fix === undefined ? {} : { fix: redact(decision.fix) }),
    },
    ...(approval === undefined ? {} : { approval: shownApproval(approval) }),
    outcome: {
      ...facts.outcome,
      ...('message' in said ? { message: redact(said.message) } : {}),
      ...('fix' in said && said.fix !== undefined ? { fix: redact(said.fix) } : {}),
    },
  };
}

function shownApproval(approval: NonNullable<ToolAttestation['approval']>): NonNullable<ToolCallResult['approval']> {
  const { approval_id, outcome, scope, decider, device_id, assurance } = approval;
  return {
    id: approval_id,
    outcome,
    ...(scope === undefined ? {} : { scope }),
    ...(decider === undefined ? {} : { decided_by: decider }),
    ...(device_id === undefined ? {} : { device: device_id }),
    ...(assurance === undefined ? {} : { assurance }),
  };
}

interface Ending extends Pick<AttestDeps, 'owner'> {
  readonly statements: CallStatements;
  /** What is told again to the same key. */
  readonly kept: Unattested;
  readonly body: Body | undefined;
  readonly told: number | null;
}

/** A question that is open is asked again with the same key: its end is told now, and kept nowhere. */
function isKept(end: CallEnd): boolean {
  return end.kind === 'executed' || end.code !== 'gateway.approval_pending';
}

/** The row that answers the same key again; a refusal has none yet. */
function endSteps(
  { call, hasIntent, withheld }: CallLedger,
  end: CallEnd,
  { statements: { countRefusal, endCall, insertCall, insertRefused }, owner, kept, body, told: number }: Ending,
): readonly Step[] {
  const told = { result: canonicalJson({ ...kept }), output: body?.commitment ?? null, told: number };
  const facts = () => canonicalJson(knownFacts(call) as unknown as JsonValue);
  if (withheld !== undefined) return [insertCall({ ...rowOf(call, owner), state: 'ended', facts: facts(), ...told })];
  if (end.kind === 'executed' || hasIntent) return [endCall({ id: call.id, ...told })];
  // A question that is open is asked again with the same key.
  if (isParked(call, end)) return [];
  const counted = countRefusal({ run: call.run.id });
  if (!isKept(end)) return [counted];
  const row = { ...rowOf(call, owner), state: 'ended', facts: facts(), ...told } as const;
  return [counted, insertRefused(row)];
}

function attestationOf(
  facts: AttestedFacts,
  attested: Extract<AttestOutcome, { readonly kind: 'attested' }>,
): ToolCallResult['attestation'] {
  return {
    attestation_id: attested.attestation_id,
    execution_sha256: attested.execution_sha256,
    ...attestedWith(facts),
    journal_seq: attested.journal_seq,
  };
}

function attestedWith({ executor, sandbox_enforcement, coverage, policy_snapshot_sha256 }: AttestedFacts) {
  return { executor, sandbox_enforcement, coverage, policy_snapshot_sha256 };
}
