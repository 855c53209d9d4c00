import type { Approvals } from '@palyra/approvals';
import type { Journal } from '@palyra/journal';
import type { ActivePolicies } from '@palyra/policy';
import {
  type Clock,
  canonicalJson,
  type IdSource,
  type JsonValue,
  type RunId,
  type SessionId,
} from '@palyra/primitives';
import { type Database, statement } from '@palyra/storage';
import type { Catalog } from '../catalog/create-catalog.ts';
import { GatewayError } from '../gateway-error.ts';
import type { GatewaySchema, RunRow } from '../store/gateway-schema.ts';
import type { Caller, ProposedCall, Workspace } from '../tool-call/proposed-call.ts';
import type { ToolCallSteps } from '../tool-call/run-tool-call.ts';
import type { ToolCallResult } from '../tool-call/tool-call-result.ts';
import { isAllowedTool, snapshotOf, type ToolCallConfig } from '../tool-call-config.ts';
import { createCalls } from './create-calls.ts';
import { createBudget, type OpenRun } from './open-run.ts';
import { createTurns } from './turns.ts';

export interface RunRequest {
  readonly workspace: Workspace;
  /** A session of the same credential to go on with; a new one unless told. */
  readonly session?: SessionId;
}

/** What the owner of a run does with it. */
export interface Run {
  readonly id: RunId;
  readonly session: SessionId;
  /**
   * One call from its proposal to its attestation. Everything that can become of it is a result; throws
   * `gateway.run_ended`, `gateway.key_reused`, `gateway.call_elsewhere`, and what the journal throws when an outcome could
   * not be recorded: then it is told at the next start.
   */
  call(proposed: Omit<ProposedCall, 'run'>): Promise<ToolCallResult>;
  /** Stops what runs, takes back what is asked, and ends the run. */
  cancel(): Promise<void>;
  end(): Promise<void>;
}

export interface Runs {
  start(caller: Caller, request: RunRequest): Promise<Run>;
  resume(caller: Caller, id: RunId): Promise<Run>;
  close(): Promise<void>;
}

export interface RunsDeps {
  readonly database: Database<GatewaySchema>;
  readonly journal: Journal;
  readonly approvals: Pick<Approvals, 'cancelRun'>;
  readonly policy: Pick<ActivePolicies, 'current'>;
  readonly catalog: Catalog;
  readonly config: ToolCallConfig;
  readonly owner: string;
  readonly clock: Clock;
  readonly ids: IdSource;
  readonly steps: ToolCallSteps;
}

export function createRuns(deps: RunsDeps): Runs {
  const { database, journal, policy, config, clock, ids, owner } = deps;
  const open = new Map<string, Run>();

  return {
    async start(caller, { workspace, session: known }) {
      const session = known === undefined ? ids.newId('session') : await ownSession(known, caller, database);
      const id = ids.newId('run');
      const row: RunRow = {
        id,
        session,
        principal: caller.actor,
        credential: caller.credential,
        workspace: workspace.id,
        workspace_root: workspace.root,
        state: 'open',
        calls: 0,
        refused: 0,
        max_calls: config.maxCallsPerRun,
        opened_with: canonicalJson(config as unknown as JsonValue),
        owner,
        started_at: clock.now(),
        ended_at: null,
      };
      const snapshot = await journal.putSnapshot(
        snapshotOf({ config, allowedNames: () => allowedNames(deps) }, policy.current()),
      );
      const { coverage, separation, deviceId } = caller;
      const named = { run_id: id, session_id: session, principal: caller.actor };
      await journal.append(
        caller.actor,
        [
          {
            kind: 'run.started',
            data: {
              ...named,
              coverage,
              separation,
              policy_snapshot: snapshot,
              ...(deviceId === undefined ? {} : { device_id: deviceId }),
            },
          },
        ],
        { steps: [statement(database.write.insertInto('gateway_runs').values(row), { rows: 1 })] },
      );
      const run = openRun(row, caller, deps);
      open.set(id, run);
      return run;
    },
    async resume(caller, id) {
      const row = await database.read.selectFrom('gateway_runs').selectAll().where('id', '=', id).executeTakeFirst();
      // SECURITY: T-41 — a run is found by its credential; whoever learned its id finds nothing.
      if (row === undefined || row.credential !== caller.credential) {
        throw new GatewayError('gateway.run_not_found', 'There is no such run of this credential.');
      }
      if (row.state === 'ended') throw new GatewayError('gateway.run_ended', 'The run is over.');
      const run = open.get(id) ?? openRun(row, caller, deps);
      open.set(id, run);
      return run;
    },
    async close() {
      await Promise.all([...open.values()].map((run) => run.cancel().catch(() => undefined)));
      open.clear();
    },
  };
}

/** SECURITY: T-41 — a session brings its grants along; whoever learned its id gets none of them. */
async function ownSession(
  session: SessionId,
  { credential }: Caller,
  database: Database<GatewaySchema>,
): Promise<SessionId> {
  const found = await database.read
    .selectFrom('gateway_runs')
    .select('id')
    .where('session', '=', session)
    .where('credential', '=', credential)
    .limit(1)
    .executeTakeFirst();
  if (found !== undefined) return session;
  throw new GatewayError('gateway.session_not_found', 'There is no such session of this credential.');
}

function allowedNames({ catalog, config }: RunsDeps): readonly string[] {
  const all = catalog.list({ includeHidden: true }).map(({ name }) => name);
  return all.filter((name) => isAllowedTool(config, name));
}

function openRun(row: RunRow, caller: Caller, deps: RunsDeps): Run {
  const { database, journal, approvals, config, clock } = deps;
  const cancelled = new AbortController();
  const run: OpenRun = {
    id: row.id as RunId,
    session: row.session as SessionId,
    caller,
    workspace: { id: row.workspace, root: row.workspace_root },
    config: { ...config, maxCallsPerRun: row.max_calls },
    allowedNames: () => allowedNames(deps),
    budget: createBudget(row.max_calls, { used: row.calls, refused: row.refused }),
    turns: createTurns(),
    signal: cancelled.signal,
  };
  const calls = createCalls(run, deps);
  let ending: Promise<void> | undefined;

  const finish = (outcome: 'completed' | 'cancelled'): Promise<void> => {
    ending ??= recordEnd(outcome);
    return ending;
  };
  const recordEnd = async (outcome: 'completed' | 'cancelled') => {
    await calls.settled();
    const { write } = database;
    const close = write
      .updateTable('gateway_runs')
      .set({ state: 'ended', ended_at: clock.now() })
      .where('id', '=', run.id)
      .where('state', '=', 'open');
    const ids = { run_id: run.id, session_id: run.session, principal: caller.actor };
    const data = { ...ids, outcome, calls: run.budget.used };
    await journal.append(caller.actor, [{ kind: 'run.ended', data }], { steps: [statement(close, { rows: 1 })] });
  };
  /** As many refusals as calls: an agent that is refused all the time fills the journal. */
  const endIfRefusedTooOften = () => {
    if (run.budget.refused < row.max_calls) return;
    // Not waited for: it waits for the calls that are under way, and one of them may wait for this one. When it cannot be
    // recorded, it is after a restart.
    finish('cancelled').catch(() => undefined);
  };
  return {
    id: run.id,
    session: run.session,
    async call(proposed) {
      endIfRefusedTooOften();
      if (ending !== undefined) throw new GatewayError('gateway.run_ended', 'The run is over.');
      const result = await calls.call({ ...proposed, run: run.id });
      endIfRefusedTooOften();
      return result;
    },
    async cancel() {
      cancelled.abort();
      await approvals.cancelRun(run.id);
      await finish('cancelled');
    },
    end: () => finish('completed'),
  };
}
