import type { Database } from '@palyra/storage';
import type { GatewaySchema } from '../store/gateway-schema.ts';
import type { OpenedCall } from './decided-call.ts';

/** Whether another process was faster with the same key. Asked when a row could not be written: then it was not. */
export async function hasLostKey(
  { id, run, proposed: { key } }: OpenedCall,
  { read }: Pick<Database<GatewaySchema>, 'read'>,
): Promise<boolean> {
  if (key === undefined) return false;
  const row = await read
    .selectFrom('gateway_calls')
    .select('id')
    .where('run', '=', run.id)
    .where('key', '=', key)
    .executeTakeFirst();
  return row !== undefined && row.id !== id;
}
