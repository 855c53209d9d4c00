import type { Approvals } from '@palyra/approvals';
import {
  attestationIn,
  type EntryData,
  type Journal,
  type JournalEntry,
  JournalError,
  openEnvelope,
  type ToolAttestation,
} from '@palyra/journal';
import type { ActivePolicies } from '@palyra/policy';
import { type ApprovalId, type JsonObject, type JsonValue, parseJson } from '@palyra/primitives';
import { GatewayError } from '../gateway-error.ts';
import type { Redactor } from '../redact/create-redactor.ts';
import type { Caller } from '../tool-call/proposed-call.ts';
import type { WaitingCalls } from '../tool-call/waiting-calls.ts';
import { findRun } from './find-run.ts';
import { type ReadDeps, type RunView, viewOf } from './read-runs.ts';
import { type SaidApproval, saidAbout } from './said-approval.ts';

/** Everything about one call, on one page. */
export interface CallPage {
  readonly callId: string;
  readonly parentCallId: string | null;
  readonly run: RunView;
  readonly tool: string;
  readonly proposedAt: number;
  readonly seq: number;
  readonly input: BodyView;
  /** As often as it was decided; the last one counts. */
  readonly decisions: readonly DecisionView[];
  readonly approval: ApprovalView | null;
  readonly intent: {
    readonly seq: number;
    readonly at: number;
    readonly executor: string;
    readonly plan: BodyView;
  } | null;
  /** Hosts that it did not name and was let through to, in order. */
  readonly connections: readonly ConnectionView[];
  readonly outcome: OutcomeView | null;
  /** As it was signed: the measured sandbox, limits, resources, egress and the statement of the approval are in it. */
  readonly attestation: {
    readonly seq: number;
    readonly id: string;
    readonly statement: ToolAttestation | null;
  } | null;
}

/** What was said, beside the journal; secrets that are held are masked. */
export type BodyView =
  | { readonly kind: 'kept'; readonly text: string; readonly bytes: number; readonly totalBytes: number }
  | { readonly kind: 'erased' | 'unreadable' };

export interface DecisionView {
  readonly seq: number;
  readonly at: number;
  readonly kind: EntryData<'decision'>['decision'];
  readonly reasonCode: string;
  readonly policySet: string;
  /** With their text where these very policies are the active ones. */
  readonly policies: readonly {
    readonly id: string;
    readonly text: string | null;
    readonly reason: string | null;
    readonly file: string | null;
    readonly line: number | null;
  }[];
}

export interface ApprovalView extends SaidApproval {
  /** As shown; null when it was erased. The bytes that the answer is bound to are in `what.bound`. */
  readonly prompt: JsonValue | null;
  readonly bound: readonly JsonValue[];
  readonly notBound: readonly JsonValue[];
}

export interface ConnectionView {
  readonly seq: number;
  readonly at: number;
  /** `host:port`. */
  readonly target: BodyView;
  readonly policyIds: readonly string[];
  /** The answer that allowed it; null when policy did by itself. */
  readonly approvalId: string | null;
}

export interface OutcomeView {
  readonly seq: number;
  readonly at: number;
  readonly kind: EntryData<'outcome'>['outcome'];
  readonly code: string | null;
  readonly exitCode: number | null;
  readonly output: BodyView | null;
}

export interface ReadCallDeps extends ReadDeps {
  readonly journal: Pick<Journal, 'query' | 'bodies'>;
  readonly policies: Pick<ActivePolicies, 'decide' | 'current'>;
  readonly approvals: Pick<Approvals, 'get'>;
  readonly redactor: Pick<Redactor, 'redactText'>;
  readonly waiting: WaitingCalls;
}

/** Throws `gateway.call_not_found`, also for a call of a run that this credential may not see. */
export async function readCall(by: Caller, id: string, deps: ReadCallDeps): Promise<CallPage> {
  const { entries } = await deps.journal.query({ call: id, limit: 1000 });
  const proposal = entries.find((entry) => entry.kind === 'proposal');
  if (proposal === undefined) throw notFound();
  const row = await findRun(proposal.data.run_id, by, { ...deps, action: 'run.read' }).catch(() => {
    // SECURITY: T-41 — of another one's call nothing is said, not even that it is there.
    throw notFound();
  });
  const { data, seq, time } = proposal;
  const attestation = await attestationOf(entries, deps);
  return {
    callId: id,
    parentCallId: data.parent_call_id ?? null,
    run: viewOf(row),
    tool: data.tool,
    proposedAt: time,
    seq,
    input: await bodyOf(data.input, deps),
    decisions: entries.flatMap((entry) => (entry.kind === 'decision' ? [decisionOf(entry, deps)] : [])),
    approval: await approvalOf(id, attestation?.statement ?? null, deps),
    intent: await intentOf(entries, deps),
    connections: await connectionsOf(entries, deps),
    outcome: await outcomeOf(entries, deps),
    attestation,
  };
}

function notFound(): GatewayError {
  return new GatewayError('gateway.call_not_found', 'There is no such call, or it is one of another credential.');
}

async function bodyOf(commitment: string, { journal, redactor }: ReadCallDeps): Promise<BodyView> {
  try {
    const { bytes, totalBytes } = await journal.bodies.read(commitment);
    // SECURITY: T-24 — what was given to a tool is kept as it was, and shown without what is held.
    const text = redactor.redactText(Buffer.from(bytes).toString('utf8'));
    return { kind: 'kept', text, bytes: bytes.length, totalBytes };
  } catch (error) {
    const isErased = error instanceof JournalError && error.code === 'journal.body_erased';
    return { kind: isErased ? 'erased' : 'unreadable' };
  }
}

function decisionOf(
  { data, seq, time }: Extract<JournalEntry, { kind: 'decision' }>,
  { policies }: ReadCallDeps,
): DecisionView {
  const active = policies.current();
  // Of another set the same id may say something else.
  const texts = new Map(active.digest === data.policy_set ? active.policies.map((each) => [each.id, each]) : []);
  return {
    seq,
    at: time,
    kind: data.decision,
    reasonCode: data.reason_code,
    policySet: data.policy_set,
    policies: data.policy_ids.map((id) => {
      const { text = null, reason = null, file = null, line = null } = texts.get(id) ?? {};
      return { id, text, reason, file, line };
    }),
  };
}

async function connectionsOf(entries: readonly JournalEntry[], deps: ReadCallDeps): Promise<readonly ConnectionView[]> {
  const found: ConnectionView[] = [];
  for (const { kind, data, seq, time } of entries) {
    if (kind !== 'connection.decided' || data.decision !== 'allow') continue;
    const target = await bodyOf(data.target, deps);
    found.push({ seq, at: time, target, policyIds: data.policy_ids, approvalId: data.approval_id ?? null });
  }
  return found;
}

async function attestationOf(entries: readonly JournalEntry[], deps: ReadCallDeps): Promise<CallPage['attestation']> {
  const entry = entries.findLast((each) => each.kind === 'attestation');
  if (entry === undefined) return null;
  const { attestation_id: id, envelope } = entry.data;
  const body = await deps.journal.bodies.read(envelope).catch(() => undefined);
  const statement = body === undefined ? null : attestationIn(openEnvelope(Buffer.from(body.bytes).toString('utf8')));
  return { seq: entry.seq, id, statement };
}

async function approvalOf(
  call: string,
  statement: ToolAttestation | null,
  deps: ReadCallDeps,
): Promise<ApprovalView | null> {
  const said = (await saidAbout(call, statement, deps)) ?? openQuestion(call, deps);
  if (said === null) return null;
  const prompt = await promptOf(said.id as ApprovalId, deps);
  const what = (prompt?.['what'] ?? {}) as JsonObject;
  const listed = (name: string) => (Array.isArray(what[name]) ? (what[name] as JsonValue[]) : []);
  return { ...said, prompt, bound: listed('bound'), notBound: listed('not_bound') };
}

function openQuestion(call: string, { waiting }: ReadCallDeps): SaidApproval | null {
  const [id] = Array.from(waiting).find(([, each]) => each.id === call) ?? [];
  if (id === undefined) return null;
  return { id, outcome: 'pending', decidedBy: null, device: null, scope: null, assurance: null };
}

/** From the signed record: a row could have been edited. Null when it was erased. */
async function promptOf(id: ApprovalId, { journal }: ReadCallDeps): Promise<JsonObject | null> {
  for (let cursor: number | undefined; ; ) {
    const page = await journal.query({
      kinds: ['approval.requested'],
      order: 'newest first',
      limit: 1000,
      ...(cursor === undefined ? {} : { cursor }),
    });
    const found = page.entries.find((each) => each.kind === 'approval.requested' && each.data.approval_id === id);
    if (found?.kind === 'approval.requested') {
      const body = await journal.bodies.read(found.data.prompt).catch(() => undefined);
      return body === undefined ? null : (parseJson(body.bytes) as JsonObject);
    }
    if (page.next === undefined) return null;
    cursor = page.next;
  }
}

async function intentOf(entries: readonly JournalEntry[], deps: ReadCallDeps): Promise<CallPage['intent']> {
  const entry = entries.find((each) => each.kind === 'intent');
  if (entry === undefined) return null;
  const { executor, plan } = entry.data;
  const shown: BodyView = plan === undefined ? { kind: 'unreadable' } : await bodyOf(plan, deps);
  return { seq: entry.seq, at: entry.time, executor, plan: shown };
}

async function outcomeOf(entries: readonly JournalEntry[], deps: ReadCallDeps): Promise<OutcomeView | null> {
  const entry = entries.findLast((each) => each.kind === 'outcome');
  if (entry === undefined) return null;
  const { outcome, code, exit_code, output } = entry.data;
  return {
    seq: entry.seq,
    at: entry.time,
    kind: outcome,
    code: code ?? null,
    exitCode: exit_code ?? null,
    output: output === undefined ? null : await bodyOf(output, deps),
  };
}
