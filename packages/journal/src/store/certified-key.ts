import { type ProgramRun, rowsOf } from '@palyra/storage';
import type { Kysely } from 'kysely';
import { hexOf } from '../format/bytes.ts';
import type { JournalSchema, LogRow } from './journal-schema.ts';

/** What was found before; statements are only ever added, and a retired key is no longer in its file. */
const found = new Set<string>();

/** Whether the log says that this key may sign its checkpoints now. */
export function* isCertified(
  build: Kysely<never>,
  { number, origin, size }: LogRow,
  publicKey: Uint8Array,
): ProgramRun<boolean> {
  const key = hexOf(publicKey);
  if (found.has(`${origin} ${key}`)) return true;
  const rows = yield* rowsOf(
    (build as unknown as Kysely<JournalSchema>)
      .selectFrom('journal_keys')
      .select(['change', 'position'])
      .where('log', '=', number)
      .where('role', '=', 'checkpoint')
      .where('public_key', '=', key),
  );
  const isActive = rows.some(({ change }) => change === 'activated');
  const isRetired = rows.some(({ change, position }) => change === 'retired' && position < size);
  if (!isActive || isRetired) return false;
  found.add(`${origin} ${key}`);
  return true;
}
