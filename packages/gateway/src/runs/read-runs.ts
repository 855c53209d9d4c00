import { commandLine } from '@palyra/approvals';
import {
  attestationIn,
  type EntryData,
  type Journal,
  type JournalEntry,
  openEnvelope,
  type ToolAttestation,
} from '@palyra/journal';
import type { ActivePolicies } from '@palyra/policy';
import { type Clock, parseJson } from '@palyra/primitives';
import type { Database } from '@palyra/storage';
import type { Redactor } from '../redact/create-redactor.ts';
import type { GatewaySchema, RunRow } from '../store/gateway-schema.ts';
import type { Caller } from '../tool-call/proposed-call.ts';
import type { OpenedWith } from './create-runs.ts';
import { findRun } from './find-run.ts';
import { mayDo } from './may-do.ts';
import { type SaidApproval, saidAbout } from './said-approval.ts';

/** A run, for people and programs that look through them. */
export interface RunView {
  readonly id: string;
  readonly session: string;
  readonly principal: string;
  readonly workspace: string;
  readonly workspaceRoot: string;
  readonly state: RunRow['state'];
  readonly calls: number;
  readonly refused: number;
  readonly maxCalls: number;
  readonly coverage: OpenedWith['coverage'];
  readonly separation: OpenedWith['separation'];
  readonly deviceId: string | null;
  readonly channel: string | null;
  readonly startedAt: number;
  readonly endedAt: number | null;
}

export interface RunsQuery {
  readonly principal?: string;
  readonly state?: RunRow['state'];
  readonly limit: number;
  /** Older than this one. */
  readonly before?: string;
}

/** One line of a run: a call, as far as the journal has it. */
export interface CallLine {
  readonly callId: string;
  readonly parentCallId: string | null;
  readonly tool: string;
  readonly proposedAt: number;
  /** Of its proposal: the place where the next page begins. */
  readonly seq: number;
  readonly decision: EntryData<'decision'>['decision'] | null;
  readonly reasonCode: string | null;
  readonly policyIds: readonly string[];
  /** What a human said, without which policy would not have allowed it; null while nobody has. */
  readonly approval: SaidApproval | null;
  /** `waiting` for a human or its turn, `executing`, or how it ended. */
  readonly state: 'waiting' | 'executing' | EntryData<'outcome'>['outcome'];
  readonly code: string | null;
  readonly endedAt: number | null;
  /** What it was about, as far as it is kept: the beginning of what was proposed, without secrets that are held. */
  readonly about: string | null;
}

export interface ShownRun {
  readonly run: RunView;
  /** Newest first. */
  readonly calls: readonly CallLine[];
  /** Where the next page begins. */
  readonly next?: number;
}

export interface CallsPage {
  readonly limit?: number;
  readonly before?: number;
}

export interface ReadDeps {
  readonly database: Pick<Database<GatewaySchema>, 'read'>;
  readonly journal: Pick<Journal, 'query' | 'bodies'>;
  readonly redactor: Pick<Redactor, 'redactText'>;
  readonly policies: Pick<ActivePolicies, 'decide'>;
  readonly clock: Clock;
}

const MOST = 200;

/** Newest first. Operators see all, everybody else those of their own credential. */
export async function listRuns(by: Caller, query: RunsQuery, deps: ReadDeps): Promise<readonly RunView[]> {
  const { principal, state, before } = query;
  const isEverything = mayDo(by, { action: 'run.read', resource: { type: 'Run', id: 'all' } }, deps);
  let rows = deps.database.read.selectFrom('gateway_runs').selectAll();
  // SECURITY: T-41 — by credential, not by the name that several may share.
  if (!isEverything) rows = rows.where('credential', '=', by.credential);
  if (principal !== undefined) rows = rows.where('principal', '=', principal);
  if (state !== undefined) rows = rows.where('state', '=', state);
  if (before !== undefined) rows = rows.where('id', '<', before);
  const found = await rows.orderBy('id', 'desc').limit(pageSize(query.limit)).execute();
  return found.map(viewOf);
}

/** Throws `gateway.run_not_found`. */
export async function showRun(
  by: Caller,
  { id, limit = 50, before }: CallsPage & { readonly id: string },
  deps: ReadDeps,
): Promise<ShownRun> {
  const row = await findRun(id, by, { ...deps, action: 'run.read' });
  const page = await deps.journal.query({
    run: id,
    kinds: ['proposal'],
    order: 'newest first',
    limit: pageSize(limit),
    ...(before === undefined ? {} : { cursor: before }),
  });
  const calls: CallLine[] = [];
  for (const entry of page.entries) if (entry.kind === 'proposal') calls.push(await lineOf(entry, deps));
  return { run: viewOf(row), calls, ...(page.next === undefined ? {} : { next: page.next }) };
}

export function viewOf(row: RunRow): RunView {
  const { coverage, separation, device_id, channel } = parseJson(row.opened_with) as unknown as OpenedWith;
  return {
    id: row.id,
    session: row.session,
    principal: row.principal,
    workspace: row.workspace,
    workspaceRoot: row.workspace_root,
    state: row.state,
    calls: row.calls,
    refused: row.refused,
    maxCalls: row.max_calls,
    coverage,
    separation,
    deviceId: device_id ?? null,
    channel: channel ?? null,
    startedAt: row.started_at,
    endedAt: row.ended_at,
  };
}

async function lineOf(
  { data, seq, time }: Extract<JournalEntry, { kind: 'proposal' }>,
  deps: Pick<ReadDeps, 'journal' | 'redactor' | 'database'>,
): Promise<CallLine> {
  const { journal, redactor } = deps;
  const { entries } = await journal.query({
    call: data.call_id,
    kinds: ['decision', 'intent', 'outcome', 'attestation'],
  });
  const decision = entries.findLast((entry) => entry.kind === 'decision')?.data;
  const ended = entries.findLast((entry) => entry.kind === 'outcome');
  const outcome = ended?.data;
  const input = await journal.bodies.read(data.input).catch(() => undefined);
  const statement = await attestedOf(entries, journal);
  return {
    callId: data.call_id,
    parentCallId: data.parent_call_id ?? null,
    tool: data.tool,
    proposedAt: time,
    seq,
    decision: decision?.decision ?? null,
    reasonCode: decision?.reason_code ?? null,
    policyIds: decision?.policy_ids ?? [],
    approval: await saidAbout(data.call_id, statement, deps),
    state: outcome?.outcome ?? (entries.some(({ kind }) => kind === 'intent') ? 'executing' : 'waiting'),
    code: outcome?.code ?? null,
    endedAt: ended?.time ?? null,
    // SECURITY: T-24 — masked whole, then cut: half of a secret is not found any more.
    about:
      input === undefined
        ? null
        : `${redactor.redactText(aboutInput(input.bytes)).slice(0, MOST_ABOUT)}${reachedBy(statement)}`,
  };
}

const MOST_ABOUT = 400;

/** Null while there is none, and when it was erased. */
async function attestedOf(
  entries: readonly JournalEntry[],
  journal: ReadDeps['journal'],
): Promise<ToolAttestation | null> {
  const entry = entries.findLast((each) => each.kind === 'attestation');
  const body = entry === undefined ? undefined : await journal.bodies.read(entry.data.envelope).catch(() => undefined);
  return body === undefined ? null : attestationIn(openEnvelope(Buffer.from(body.bytes).toString('utf8')));
}

/** Where it connected to, as attested; nothing when it did not. */
function reachedBy(statement: ToolAttestation | null): string {
  const egress = statement?.egress ?? [];
  const hosts = (outcome: string) => [
    ...new Set(egress.filter((each) => each.outcome === outcome).map(({ host, port }) => `${host}:${port}`)),
  ];
  const reached = hosts('allowed');
  const denied = hosts('denied').length;
  if (reached.length + denied === 0) return '';
  const named = [...reached.slice(0, MOST_HOSTS), ...(denied === 0 ? [] : [`${denied} denied`])];
  return ` → ${named.join(', ')}${reached.length > MOST_HOSTS ? ', …' : ''}`;
}

const MOST_HOSTS = 3;

/** The command line or the paths, where there are any; else all of it. */
function aboutInput(bytes: Uint8Array): string {
  const text = Buffer.from(bytes).toString('utf8');
  try {
    const { argv, path, client, tool, paths, url } = Object(JSON.parse(text)) as Readonly<Record<string, unknown>>;
    if (isTexts(argv)) return commandLine(argv);
    // Of an agent's own tool: what it writes is in its arguments, and in the way here.
    const touched = [...(isTexts(paths) ? paths : []), ...(typeof url === 'string' ? [url] : [])];
    if (typeof client === 'string' && touched.length > 0) return `${client} ${String(tool)} ${touched.join(' ')}`;
    return typeof path === 'string' ? path : text;
  } catch {
    return text;
  }
}

function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((each) => typeof each === 'string');
}

function pageSize(limit: number): number {
  return Math.max(1, Math.min(MOST, Math.trunc(limit)));
}
