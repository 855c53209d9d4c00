import type { Journal } from '@palyra/journal';
import type { RunId, SessionId } from '@palyra/primitives';
import type { Database } from '@palyra/storage';
import { GatewayError } from '../gateway-error.ts';
import type { GatewaySchema } from '../store/gateway-schema.ts';
import type { Workspace } from '../tool-call/proposed-call.ts';
import type { ToolCallResult } from '../tool-call/tool-call-result.ts';
import { recordedEnd } from './create-calls.ts';
import { runRow } from './reopen-run.ts';
import { lastNumber } from './told-numbers.ts';

/** A run as it is on record, whoever asks: whose it is must be looked at. */
export interface KnownRun {
  readonly id: RunId;
  readonly session: SessionId;
  readonly principal: string;
  readonly credential: string;
  readonly workspace: Workspace;
  readonly startedAt: number;
  readonly generation: number;
  /** Absent while it is open. */
  readonly end?: {
    /** `completed` or `cancelled`. */
    readonly outcome: string;
    readonly calls: number;
    readonly at: number;
    /** Under which number it is told. */
    readonly told: number;
  };
}

/** A result and the number under which it was told; its attestation was told next. */
export interface ToldCall {
  readonly told: number;
  readonly key: string | null;
  readonly result: ToolCallResult;
  readonly at: number;
}

export interface ToldPage {
  readonly run: RunId;
  /** Above this one, in order. */
  readonly after: number;
  readonly upTo: number;
  readonly limit: number;
}

export interface ReadToldDeps {
  readonly database: Pick<Database<GatewaySchema>, 'read'>;
  readonly journal: Journal;
}

/** Throws `gateway.run_not_found`. */
export async function readRun(id: RunId, { database, journal }: ReadToldDeps): Promise<KnownRun> {
  const row = await runRow(id, database);
  if (row === undefined) throw new GatewayError('gateway.run_not_found', 'There is no such run.');
  const { principal, credential, generation } = row;
  const run = {
    id,
    session: row.session as SessionId,
    principal,
    credential,
    workspace: { id: row.workspace, root: row.workspace_root },
    startedAt: row.started_at,
    generation,
  };
  if (row.state === 'open') return run;
  const { entries } = await journal.query({ run: id, kinds: ['run.ended'], limit: 1 });
  const [entry] = entries;
  const outcome = entry?.kind === 'run.ended' ? entry.data.outcome : 'cancelled';
  const told = row.told ?? lastNumber(generation);
  return { ...run, end: { outcome, calls: row.calls, at: row.ended_at ?? row.started_at, told } };
}

export async function readOpenRuns({
  database,
  owner,
}: Pick<ReadToldDeps, 'database'> & { readonly owner: string }): Promise<readonly RunId[]> {
  const rows = await database.read
    .selectFrom('gateway_runs')
    .select('id')
    .where('state', '=', 'open')
    .where('owner', '=', owner)
    .execute();
  return rows.map(({ id }) => id as RunId);
}

/** Results that were told, as they were told; what was put out may have been erased since. */
export async function readTold(page: ToldPage, { database, journal }: ReadToldDeps): Promise<readonly ToldCall[]> {
  const rows = await database.read
    .selectFrom('gateway_calls')
    .selectAll()
    .where('run', '=', page.run)
    .where('state', '=', 'ended')
    .where('told', '>', page.after)
    .where('told', '<=', page.upTo)
    .orderBy('told')
    .limit(page.limit)
    .execute();
  const calls: ToldCall[] = [];
  for (const row of rows) {
    calls.push({ told: Number(row.told), key: row.key, ...(await recordedEnd(row, journal)) });
  }
  return calls;
}
