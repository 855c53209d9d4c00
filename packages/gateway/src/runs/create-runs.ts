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
import type { Caller, ProposedCall, ToldPlace, Workspace } from '../tool-call/proposed-call.ts';
import type { ToolCallSteps } from '../tool-call/run-tool-call.ts';
import type { ToolCallResult } from '../tool-call/tool-call-result.ts';
import { isAllowedTool, snapshotOf, type ToolCallConfig } from '../tool-call-config.ts';
import { createCalls } from './create-calls.ts';
import { createBudget, type OpenRun } from './open-run.ts';
import { nextGeneration, runRow } from './reopen-run.ts';
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
  readonly workspace: Workspace;
  readonly startedAt: number;
  /** How many processes have opened it, this one included. */
  readonly generation: number;
  /**
   * One call from its proposal to its attestation. Everything that can become of it is a result; throws
   * `gateway.run_ended`, `gateway.key_reused`, `gateway.call_elsewhere`, and what the journal throws when an outcome could
   * not be recorded: then it is told at the next start.
   */
  call(proposed: Omit<ProposedCall, 'run'>): Promise<ToolCallResult>;
  /** Stops what runs, takes back what is asked, and ends the run. */
  cancel(): Promise<void>;
  end(): Promise<void>;
  /** Has its end told, whoever ends it. The last one that followed is asked. */
  follow(follower: RunFollower): void;
}

/** Whoever tells what happens in a run. */
export interface RunFollower {
  endAt(): ToldPlace;
  /** It is over, and on record; told at the place that was last given. */
  over(end: { readonly outcome: 'completed' | 'cancelled'; readonly calls: number }): void;
}

export interface Runs {
  start(caller: Caller, request: RunRequest): Promise<Run>;
  resume(caller: Caller, id: RunId): Promise<Run>;
  /** For operators: whose it is was looked at by whoever asks. Throws `gateway.run_not_found`, `gateway.run_ended`. */
  adopt(id: RunId): Promise<AdoptedRun>;
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
  const reopening = new Map<string, Promise<OwnedRun>>();
  /** What this process has not open gets numbers of its own, once, however many come back at the same time. */
  const reopened = (row: RunRow): Promise<OwnedRun> => {
    const known = open.get(row.id);
    if (known !== undefined) return Promise.resolve(known);
    const under = reopening.get(row.id) ?? nextGeneration(row, database).then(owned);
    reopening.set(row.id, under);
    return under.finally(() => reopening.delete(row.id));
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
        generation: 1,
        told: null,
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
      const row = await runRow(id, database);
      // SECURITY: T-41 — a run is found by its credential; whoever learned its id finds nothing.
      if (row === undefined || row.credential !== caller.credential) {
        throw new GatewayError('gateway.run_not_found', 'There is no such run of this credential.');
      }
      if (row.state === 'ended') throw new GatewayError('gateway.run_ended', 'The run is over.');
      // SECURITY: T-41 — as who is connected now: groups, coverage and channel of before may not hold any more.
      return (await reopened(row)).as(caller);
    },
    async adopt(id) {
      const row = await runRow(id, database);
      if (row === undefined) throw new GatewayError('gateway.run_not_found', 'There is no such run.');
      if (row.state === 'ended') throw new GatewayError('gateway.run_ended', 'The run is over.');
      return reopened(row);
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

/** A run as whoever looks after it sees it, without anybody's calls. */
export type AdoptedRun = Pick<
  Run,
  'id' | 'session' | 'workspace' | 'startedAt' | 'generation' | 'cancel' | 'end' | 'follow'
>;

/** A run while this process owns it, however many are connected to it. */
interface OwnedRun extends AdoptedRun {
  as(caller: Caller): Run;
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
  let follower: RunFollower | undefined;

  const recordEnd = async (outcome: 'completed' | 'cancelled') => {
    await calls.settled();
    const actor = parseActor(row.principal);
    const { write } = database;
    const place = follower?.endAt();
    using unlessTold = new DisposableStack();
    unlessTold.defer(() => place?.release());
    const close = write
      .updateTable('gateway_runs')
      .set({ state: 'ended', ended_at: clock.now(), told: place?.number ?? null })
      .where('id', '=', id)
      .where('state', '=', 'open');
    const data = { run_id: id, session_id: session, principal: actor, outcome, calls: budget.used };
    await journal.append(actor, [{ kind: 'run.ended', data }], { steps: [statement(close, { rows: 1 })] });
    unlessTold.move();
    onOver();
    follower?.over({ outcome, calls: budget.used });
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
  const adopted: AdoptedRun = {
    id,
    session,
    workspace: shared.workspace,
    startedAt: row.started_at,
    generation: row.generation,
    cancel,
    end: () => finish('completed'),
    follow(next) {
      follower = next;
    },
  };
  return {
    ...adopted,
    as(caller) {
      const run: OpenRun = { ...shared, caller };
      return {
        ...adopted,
        async call(proposed) {
          endIfRefusedTooOften();
          if (isOver) throw new GatewayError('gateway.run_ended', 'The run is over.');
          const result = await calls.call({ ...proposed, run: id }, run);
          endIfRefusedTooOften();
          return result;
        },
      };
    },
  };
}
