import type { Approvals } from '@palyra/approvals';
import { type Actor, type EntryData, type Journal, parseActor } from '@palyra/journal';
import type { ActivePolicies } from '@palyra/policy';
import type { Clock, IdSource, RunId, SessionId } from '@palyra/primitives';
import { type Database, statement } from '@palyra/storage';
import type { Catalog } from '../catalog/create-catalog.ts';
import type { OperatorNetwork } from '../connections/operator-network.ts';
import { GatewayError } from '../gateway-error.ts';
import type { GatewaySchema, RunRow } from '../store/gateway-schema.ts';
import type { Caller, ProposedCall, ToldPlace, Workspace } from '../tool-call/proposed-call.ts';
import type { ToolCallSteps } from '../tool-call/run-tool-call.ts';
import type { ToolCallResult } from '../tool-call/tool-call-result.ts';
import { isAllowedTool, type ToolCallConfig } from '../tool-call-config.ts';
import { type Calls, createCalls } from './create-calls.ts';
import { createBudget, type OpenRun } from './open-run.ts';
import type { PrincipalLoad } from './principal-load.ts';
import { createTurns, type Turns } from './turns.ts';

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
   * `gateway.run_ended`, `gateway.key_reused`, `gateway.call_elsewhere`, and what the journal
   * throws when an outcome could not be recorded: then that is tried again, and the same key tells it once it is.
   */
  call(proposed: Omit<ProposedCall, 'run'>): Promise<ToolCallResult>;
  /** Stops what runs, takes back what is asked, and ends the run. By its owner unless told. */
  cancel(by?: Actor): Promise<void>;
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

/** A run as whoever looks after it sees it, without anybody's calls. */
export type AdoptedRun = Omit<Run, 'call'>;

export interface RunsDeps {
  readonly database: Database<GatewaySchema>;
  readonly journal: Journal;
  readonly approvals: Pick<Approvals, 'cancelRun' | 'get'>;
  readonly policy: Pick<ActivePolicies, 'current'>;
  readonly catalog: Catalog;
  readonly config: ToolCallConfig;
  readonly network?: OperatorNetwork | undefined;
  readonly owner: string;
  readonly clock: Clock;
  readonly ids: IdSource;
  readonly steps: ToolCallSteps;
}

/** With what all runs of a principal take together. */
export interface LoadedDeps extends RunsDeps {
  readonly load: PrincipalLoad;
}

/** A run while this process owns it, however many are connected to it. */
export interface OwnedRun {
  readonly turns: Turns;
  readonly adopted: AdoptedRun;
  as(caller: Caller): Run;
  cancel(cause: CancelCause): Promise<void>;
  /** Another process has ended it: nothing of it goes on here. */
  drop(): void;
}

export interface CancelCause {
  readonly reason: NonNullable<EntryData<'run.ended'>['reason']>;
  /** Its owner unless told. */
  readonly by?: Actor;
}

/** Told of every run that somebody cancelled, with its id. */
export const RUN_CANCELLED_CHANNEL = 'gateway.run_cancelled';

/** What is said when a run ends by itself. */
const COMPLETED = { outcome: 'completed' } as const;

type End = typeof COMPLETED | (CancelCause & { readonly outcome: 'cancelled' });

export function openRun(opened: RunRow, deps: LoadedDeps, onOver: () => void): OwnedRun {
  const { approvals, config } = deps;
  // Not what it was opened with, which is long: thousands stand idle.
  const row = { id: opened.id, session: opened.session, principal: opened.principal, max_calls: opened.max_calls };
  const cancelled = new AbortController();
  let isOver = false;
  let isRefused = false;
  let ending: Promise<void> | undefined;
  let follower: RunFollower | undefined;
  const shared: Omit<OpenRun, 'caller'> = {
    id: row.id as RunId,
    session: row.session as SessionId,
    workspace: { id: opened.workspace, root: opened.workspace_root },
    config: row.max_calls === config.maxCallsPerRun ? config : { ...config, maxCallsPerRun: row.max_calls },
    allowedNames: () => allowedNames(deps),
    network: deps.network,
    budget: createBudget(row.max_calls, { used: opened.calls, refused: opened.refused }),
    turns: createTurns(),
    signal: cancelled.signal,
    isRefused: () => isRefused,
  };
  const { id, session, budget, turns } = shared;
  // With the first one: most of the runs that stand idle have made none.
  let calls: Calls | undefined;

  const settled = async () => calls?.settled();
  const tellEnd = async (end: End & { readonly calls: number }) => {
    const place = follower?.endAt();
    using unlessTold = new DisposableStack();
    unlessTold.defer(() => place?.release());
    await recordEnd(row, { ...end, told: place?.number ?? null }, deps);
    unlessTold.move();
    onOver();
    follower?.over({ outcome: end.outcome, calls: end.calls });
  };
  /** Once; what could not be recorded can be tried again. */
  const finish = (end: End): Promise<void> => {
    isOver = true;
    ending ??= settled()
      .then(() => tellEnd({ ...end, calls: budget.used() }))
      .catch((error: unknown) => {
        ending = undefined;
        throw error;
      });
    return ending;
  };
  const cancel = async (cause: CancelCause) => {
    isOver = true;
    cancelled.abort();
    await approvals.cancelRun(id);
    await finish({ outcome: 'cancelled', ...cause });
  };
  /** What runs already may end; what is asked is taken back, or the run would go on until somebody answers. */
  const endRefused = async () => {
    isOver = true;
    isRefused = true;
    await approvals.cancelRun(id);
    await finish({ outcome: 'cancelled', reason: 'too_many_refusals' });
  };
  /** As many refusals as calls: an agent that is refused all the time fills the journal. */
  const endIfRefusedTooOften = () => {
    if (isRefused || budget.refused() < row.max_calls) return;
    // Nobody waits for it: among the calls that it waits for may be the one that made this one.
    void endRefused().catch(() => undefined);
  };
  const over = () => {
    const why = isRefused ? 'So many calls of the run were refused that it was ended.' : 'The run is over.';
    return new GatewayError('gateway.run_ended', why, { fix: 'Begin another run.' });
  };
  const adopted: AdoptedRun = {
    id,
    session,
    workspace: shared.workspace,
    startedAt: opened.started_at,
    generation: opened.generation,
    cancel: (by) => cancel({ reason: 'cancelled', ...(by === undefined ? {} : { by }) }),
    end: () => finish(COMPLETED),
    follow(next) {
      follower = next;
    },
  };
  return {
    turns,
    adopted,
    as(caller) {
      const run: OpenRun = { ...shared, caller };
      return {
        ...adopted,
        async call(proposed) {
          endIfRefusedTooOften();
          if (isOver) throw over();
          calls ??= createCalls(shared, deps);
          using held = new DisposableStack();
          // What a call makes runs in its place: held back here, it would wait for itself.
          if (proposed.parent === undefined) held.defer(deps.load.take('call', row.principal));
          const result = await calls.call({ ...proposed, run: id }, run);
          endIfRefusedTooOften();
          return result;
        },
      };
    },
    cancel,
    drop() {
      isOver = true;
      cancelled.abort();
      // Ended here, and heard of as everybody else does.
      if (ending !== undefined) return;
      void settled().then(() => {
        onOver();
        follower?.endAt();
        follower?.over({ outcome: 'cancelled', calls: budget.used() });
      });
    },
  };
}

async function recordEnd(
  { id, session, principal }: Pick<RunRow, 'id' | 'session' | 'principal'>,
  end: End & { readonly calls: number; readonly told: number | null },
  { database, journal, clock }: RunsDeps,
): Promise<void> {
  const owner = parseActor(principal);
  const { outcome, calls } = end;
  const why = 'reason' in end ? { reason: end.reason } : {};
  const close = database.write
    .updateTable('gateway_runs')
    .set({ state: 'ended', ended_at: clock.now(), told: end.told })
    .where('id', '=', id)
    .where('state', '=', 'open');
  const data = { run_id: id, session_id: session, principal: owner, outcome, calls, ...why };
  // What ends by itself, or with its process, goes on elsewhere until it is done.
  const isForAll = 'reason' in end && (end.reason === 'cancelled' || end.reason === 'stopped');
  await journal.append(('by' in end ? end.by : undefined) ?? owner, [{ kind: 'run.ended', data }], {
    steps: [statement(close, { rows: 1 })],
    ...(isForAll ? { notifications: [{ channel: RUN_CANCELLED_CHANNEL, payload: id }] } : {}),
  });
}

export function allowedNames({ catalog, config }: Pick<RunsDeps, 'catalog' | 'config'>): readonly string[] {
  const all = catalog.list({ includeHidden: true }).map(({ name }) => name);
  return all.filter((name) => isAllowedTool(config, name));
}
