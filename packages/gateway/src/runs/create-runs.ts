import type { Approvals } from '@palyra/approvals';
import { type Journal, parseActor } from '@palyra/journal';
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
  const open = new Map<string, OwnedRun>();
  const owned = (row: RunRow): OwnedRun => {
    const run = open.get(row.id) ?? openRun(row, deps, () => open.delete(row.id));
    open.set(row.id, run);
    return run;
  };

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
      return owned(row).as(caller);
    },
    async resume(caller, id) {
      const row = await database.read.selectFrom('gateway_runs').selectAll().where('id', '=', id).executeTakeFirst();
      // SECURITY: T-41 — a run is found by its credential; whoever learned its id finds nothing.
      if (row === undefined || row.credential !== caller.credential) {
        throw new GatewayError('gateway.run_not_found', 'There is no such run of this credential.');
      }
      if (row.state === 'ended') throw new GatewayError('gateway.run_ended', 'The run is over.');
      // SECURITY: T-41 — as who is connected now: groups, coverage and channel of before may not hold any more.
      return owned(row).as(caller);
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

/** A run while this process owns it, however many are connected to it. */
interface OwnedRun {
  as(caller: Caller): Run;
  cancel(): Promise<void>;
}

function openRun(row: RunRow, deps: RunsDeps, onOver: () => void): OwnedRun {
  const { database, journal, approvals, config, clock } = deps;
  const cancelled = new AbortController();
  const shared: Omit<OpenRun, 'caller'> = {
    id: row.id as RunId,
    session: row.session as SessionId,
    workspace: { id: row.workspace, root: row.workspace_root },
    config: { ...config, maxCallsPerRun: row.max_calls },
    allowedNames: () => allowedNames(deps),
    budget: createBudget(row.max_calls, { used: row.calls, refused: row.refused }),
    turns: createTurns(),
    signal: cancelled.signal,
  };
  const { id, session, budget } = shared;
  const calls = createCalls(shared, deps);
  let isOver = false;
  let ending: Promise<void> | undefined;

  const recordEnd = async (outcome: 'completed' | 'cancelled') => {
    await calls.settled();
    const actor = parseActor(row.principal);
    const { write } = database;
    const close = write
      .updateTable('gateway_runs')
      .set({ state: 'ended', ended_at: clock.now() })
      .where('id', '=', id)
      .where('state', '=', 'open');
    const data = { run_id: id, session_id: session, principal: actor, outcome, calls: budget.used };
    await journal.append(actor, [{ kind: 'run.ended', data }], { steps: [statement(close, { rows: 1 })] });
    onOver();
  };
  /** Once; what could not be recorded can be tried again. */
  const finish = (outcome: 'completed' | 'cancelled'): Promise<void> => {
    isOver = true;
    ending ??= recordEnd(outcome).catch((error: unknown) => {
      ending = undefined;
      throw error;
    });
    return ending;
  };
  const cancel = async () => {
    cancelled.abort();
    await approvals.cancelRun(id);
    await finish('cancelled');
  };
  /** As many refusals as calls: an agent that is refused all the time fills the journal. What runs already may end. */
  const endIfRefusedTooOften = () => {
    // Nobody waits for it: among the calls that it waits for may be the one that made this one.
    if (budget.refused >= row.max_calls) void finish('cancelled').catch(() => undefined);
  };
  return {
    as(caller) {
      const run: OpenRun = { ...shared, caller };
      return {
        id,
        session,
        async call(proposed) {
          endIfRefusedTooOften();
          if (isOver) throw new GatewayError('gateway.run_ended', 'The run is over.');
          const result = await calls.call({ ...proposed, run: id }, run);
          endIfRefusedTooOften();
          return result;
        },
        cancel,
        end: () => finish('completed'),
      };
    },
    cancel,
  };
}
