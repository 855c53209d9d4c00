import type { Actor, Journal } from '@palyra/journal';
import type { ActivePolicies } from '@palyra/policy';
import type { Clock } from '@palyra/primitives';
import type { Database } from '@palyra/storage';
import type { GatewaySchema, RunRow } from '../store/gateway-schema.ts';
import type { Caller } from '../tool-call/proposed-call.ts';
import { mayDo, requireMay } from './may-do.ts';

export interface StopRequest {
  readonly by: Caller;
  /** Such as `agent:coder`; absent: everybody's. */
  readonly principal?: string;
}

export interface StoppedRuns {
  readonly stopped: readonly string[];
  /** Nothing more of them begins, but that they ended could not be recorded; stopping again tries again. */
  readonly failed: readonly string[];
}

export interface StopDeps {
  readonly database: Pick<Database<GatewaySchema>, 'read'>;
  readonly journal: Journal;
  readonly policies: Pick<ActivePolicies, 'decide'>;
  readonly clock: Clock;
  cancel(row: RunRow, by: Actor): Promise<void>;
}

const ALL = { type: 'Run', id: 'all' } as const;

/** Throws `gateway.not_authorized`: everybody may stop what is theirs, operators all. */
export async function stopRuns({ by, principal }: StopRequest, deps: StopDeps): Promise<StoppedRuns> {
  const isEverything = mayDo(by, { action: 'run.cancel', resource: ALL }, deps);
  // SECURITY: T-36 — an agent stops neither others nor those that share its name with another credential.
  if (!isEverything) requireMay(by, { action: 'run.cancel', resource: ALL, isOwn: principal === by.actor }, deps);
  let query = deps.database.read.selectFrom('gateway_runs').selectAll().where('state', '=', 'open');
  if (principal !== undefined) query = query.where('principal', '=', principal);
  if (!isEverything) query = query.where('credential', '=', by.credential);
  const rows = await query.orderBy('id').execute();
  const whose = principal === undefined ? {} : { principal };
  await deps.journal.append(by.actor, [{ kind: 'runs.stopped', data: { ...whose, runs: rows.length } }]);
  const ends = await Promise.allSettled(rows.map((row) => deps.cancel(row, by.actor)));
  const withEnd = (status: 'fulfilled' | 'rejected') => rows.filter((_, at) => ends[at]?.status === status);
  return {
    stopped: withEnd('fulfilled').map(({ id }) => id),
    failed: withEnd('rejected').map(({ id }) => id),
  };
}
