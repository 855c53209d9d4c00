import type { RunId } from '@palyra/primitives';
import { type Database, statement } from '@palyra/storage';
import { GatewayError } from '../gateway-error.ts';
import type { GatewaySchema, RunRow } from '../store/gateway-schema.ts';

export function runRow(id: RunId, { read }: Pick<Database<GatewaySchema>, 'read'>): Promise<RunRow | undefined> {
  return read.selectFrom('gateway_runs').selectAll().where('id', '=', id).executeTakeFirst();
}

/** Numbers of its own for what this process will tell of the run. */
export async function nextGeneration(row: RunRow, database: Database<GatewaySchema>): Promise<RunRow> {
  const generation = row.generation + 1;
  const raise = database.write
    .updateTable('gateway_runs')
    .set({ generation })
    .where('id', '=', row.id)
    .where('generation', '=', row.generation);
  const raised = await database.commit({ steps: [statement(raise, { rows: 1 })] });
  if (raised.kind === 'committed') return { ...row, generation };
  const now = await runRow(row.id as RunId, database);
  if (now === undefined) throw new GatewayError('gateway.run_not_found', 'There is no such run.');
  return nextGeneration(now, database);
}
