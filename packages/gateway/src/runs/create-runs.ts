import type { Actor } from '@palyra/journal';
import { canonicalJson, type JsonValue, type RunId, type SessionId } from '@palyra/primitives';
import { type Database, type Subscription, type SubscriptionEvent, statement } from '@palyra/storage';
import { GatewayError } from '../gateway-error.ts';
import type { GatewaySchema, RunRow } from '../store/gateway-schema.ts';
import type { Caller, Workspace } from '../tool-call/proposed-call.ts';
import { snapshotOf, type ToolCallConfig } from '../tool-call-config.ts';
import {
  type AdoptedRun,
  allowedNames,
  type OwnedRun,
  openRun,
  RUN_CANCELLED_CHANNEL,
  type Run,
  type RunsDeps,
} from './own-run.ts';
import { createPrincipalLoad } from './principal-load.ts';
import { viewOf } from './read-runs.ts';
import { nextGeneration, runRow } from './reopen-run.ts';

export interface RunRequest {
  readonly workspace: Workspace;
  /** A session of the same credential to go on with; a new one unless told. */
  readonly session?: SessionId;
}

export interface Runs {
  start(caller: Caller, request: RunRequest): Promise<Run>;
  resume(caller: Caller, id: RunId): Promise<Run>;
  /** For an agent in the box that a call of the run is. Throws `gateway.run_not_found`, `gateway.run_ended`. */
  enter(caller: Caller & { readonly isBoxed: true }, id: RunId): Promise<Run>;
  /** For operators: whose it is was looked at by whoever asks. Throws `gateway.run_not_found`, `gateway.run_ended`. */
  adopt(id: RunId): Promise<AdoptedRun>;
  /** Whoever owns it, also when nobody came back to it since the last start. */
  cancel(row: RunRow, by: Actor): Promise<void>;
  /** While no call of the run is under way in this process. */
  alone<Made>(id: string, act: () => Promise<Made>): Promise<Made>;
  close(): Promise<void>;
}

export function createRuns(deps: RunsDeps): Runs {
  const { database, journal, policy, config, network, clock, ids, owner } = deps;
  const load = createPrincipalLoad();
  const all = { ...deps, load };
  const open = new Map<string, OwnedRun>();
  const owned = (row: RunRow, free?: () => void): OwnedRun => {
    const { id } = row;
    const over = () => {
      open.delete(id);
      free?.();
    };
    const run = open.get(id) ?? openRun(row, all, over);
    open.set(id, run);
    return run;
  };
  const reopening = new Map<string, Promise<OwnedRun>>();
  /** What this process has not open gets numbers of its own, once, however many come back at the same time. */
  const reopened = (row: RunRow): Promise<OwnedRun> => {
    const known = open.get(row.id);
    if (known !== undefined) return Promise.resolve(known);
    const under = reopening.get(row.id) ?? nextGeneration(row, database).then((raised) => owned(raised));
    reopening.set(row.id, under);
    return under.finally(() => reopening.delete(row.id));
  };
  const hear = async (event: SubscriptionEvent) => {
    const ended = event.kind === 'notified' ? [event.payload] : await endedOf([...open.keys()], database);
    for (const id of ended) open.get(id)?.drop();
  };
  let listening: Promise<Subscription> | undefined;
  /** SECURITY: T-11 — a run that is cancelled on another node is cancelled here, before anything of it runs here. */
  const listen = async () => {
    listening ??= database.subscribe(RUN_CANCELLED_CHANNEL, (event) => void hear(event).catch(() => undefined));
    await listening.catch((error: unknown) => {
      listening = undefined;
      throw error;
    });
  };

  return {
    async start(caller, { workspace, session: known }) {
      await listen();
      const free = load.take('run', caller.actor);
      using unlessStarted = new DisposableStack();
      unlessStarted.defer(free);
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
        opened_with: openedWith(caller, config),
        owner,
        started_at: clock.now(),
        ended_at: null,
        generation: 1,
        told: null,
      };
      const snapshot = await journal.putSnapshot(
        snapshotOf({ config, allowedNames: () => allowedNames(deps), network }, policy.current()),
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
      unlessStarted.move();
      return owned(row, free).as(caller);
    },
    async resume(caller, id) {
      await listen();
      const row = await runRow(id, database);
      // SECURITY: T-41 — a run is found by its credential; whoever learned its id finds nothing.
      if (row === undefined || row.credential !== caller.credential) {
        throw new GatewayError('gateway.run_not_found', 'There is no such run of this credential.');
      }
      if (row.state === 'ended') throw new GatewayError('gateway.run_ended', 'The run is over.');
      // SECURITY: T-41 — as who is connected now: groups, coverage and channel of before may not hold any more.
      return (await reopened(row)).as({ ...caller, ...keptCoverage(caller, row) });
    },
    async enter(caller, id) {
      const run = open.get(id);
      // SECURITY: T-41 — only while a call of it is running here, and that is the box.
      if (run === undefined) throw new GatewayError('gateway.run_not_found', 'There is no such run here.');
      return run.as(caller);
    },
    async adopt(id) {
      await listen();
      const row = await runRow(id, database);
      if (row === undefined) throw new GatewayError('gateway.run_not_found', 'There is no such run.');
      if (row.state === 'ended') throw new GatewayError('gateway.run_ended', 'The run is over.');
      return (await reopened(row)).adopted;
    },
    cancel: (row, by) => owned(row).cancel({ by, reason: 'stopped' }),
    alone: (id, act) => open.get(id)?.turns.take('alone', act) ?? act(),
    async close() {
      await Promise.all([...open.values()].map((run) => run.cancel({ reason: 'shutdown' }).catch(() => undefined)));
      open.clear();
      (await listening?.catch(() => undefined))?.close();
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

/** How it was opened, for whoever looks at it later; each call is decided by who is connected then. */
export interface OpenedWith {
  readonly coverage: Caller['coverage'];
  readonly separation: Caller['separation'];
  readonly device_id?: string;
  readonly channel?: string;
  readonly config: ToolCallConfig;
}

/** Who serves an agent over MCP says so when the run begins, and not each time it comes back. */
function keptCoverage({ coverage }: Caller, row: RunRow): Partial<Pick<Caller, 'coverage'>> {
  return coverage === 'direct' && viewOf(row).coverage === 'mcp_only' ? { coverage: 'mcp_only' } : {};
}

function openedWith({ coverage, separation, deviceId, channel }: Caller, config: ToolCallConfig): string {
  const opened: OpenedWith = {
    coverage,
    separation,
    ...(deviceId === undefined ? {} : { device_id: deviceId }),
    ...(channel === undefined ? {} : { channel }),
    config,
  };
  return canonicalJson(opened as unknown as JsonValue);
}

async function endedOf(ids: readonly string[], { read }: Database<GatewaySchema>): Promise<readonly string[]> {
  if (ids.length === 0) return [];
  const rows = await read
    .selectFrom('gateway_runs')
    .select('id')
    .where('id', 'in', [...ids])
    .where('state', '=', 'ended')
    .execute();
  return rows.map(({ id }) => id);
}
