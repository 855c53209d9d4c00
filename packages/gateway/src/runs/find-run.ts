import type { ActivePolicies } from '@palyra/policy';
import type { Clock } from '@palyra/primitives';
import type { Database } from '@palyra/storage';
import { GatewayError } from '../gateway-error.ts';
import type { GatewaySchema, RunRow } from '../store/gateway-schema.ts';
import type { Caller } from '../tool-call/proposed-call.ts';
import { mayDo } from './may-do.ts';

export interface FindRunDeps {
  readonly database: Pick<Database<GatewaySchema>, 'read'>;
  readonly policies: Pick<ActivePolicies, 'decide'>;
  readonly clock: Clock;
  readonly action: 'run.read' | 'run.cancel';
}

/** Throws `gateway.run_not_found`, also for one that this credential may not do that to. */
export async function findRun(id: string, by: Caller, deps: FindRunDeps): Promise<RunRow> {
  const row = await deps.database.read.selectFrom('gateway_runs').selectAll().where('id', '=', id).executeTakeFirst();
  // SECURITY: T-41 — whoever learned the id of another one's run does not even learn that it is there.
  if (row !== undefined && mayTouch(row, by, deps)) return row;
  throw new GatewayError('gateway.run_not_found', 'There is no such run of this credential.');
}

function mayTouch(row: RunRow, by: Caller, deps: FindRunDeps): boolean {
  const isOwn = row.credential === by.credential;
  return mayDo(by, { action: deps.action, resource: { type: 'Run', id: row.id }, isOwn }, deps);
}
