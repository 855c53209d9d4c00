import { type Database, type DatabaseOptions, openDatabase, statement } from '@palyra/storage';
import { LEDGER_MIGRATIONS, LEDGER_PROGRAMS, type LedgerSchema } from './ledger.ts';

export type Ledger = Database<LedgerSchema>;

export type LedgerOptions = Pick<DatabaseOptions, 'location'> & Partial<DatabaseOptions>;

export function openLedger(options: LedgerOptions): Promise<Ledger> {
  return openDatabase<LedgerSchema>({
    migrations: LEDGER_MIGRATIONS,
    programs: LEDGER_PROGRAMS,
    lockTimeoutMs: 5_000,
    logger: { error: () => undefined },
    ...options,
  });
}

export async function putAccount(ledger: Ledger, id: string, balance: number): Promise<void> {
  await ledger.commit({ steps: [statement(ledger.write.insertInto('accounts').values({ id, balance }), { rows: 1 })] });
}

export async function balanceOf(ledger: Ledger, id: string): Promise<number | undefined> {
  const row = await ledger.read.selectFrom('accounts').select('balance').where('id', '=', id).executeTakeFirst();
  return row?.balance;
}
