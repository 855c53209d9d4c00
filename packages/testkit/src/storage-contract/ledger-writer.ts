import { program } from '@palyra/storage';
import { acknowledge } from '../acknowledge.ts';
import { type LedgerOptions, openLedger } from './ledger-database.ts';

/**
 * A process of its own that appends to a ledger: `ledger-writer.ts LOCATION LABEL WRITERS COUNT`.
 * It prints the body of each entry once the database has acknowledged it, and not before.
 */
const [location = '', label = '', writers = '1', count = '1'] = process.argv.slice(2);

const ledger = await openLedger({ location: JSON.parse(location) as LedgerOptions['location'] });
await Promise.all(Array.from({ length: Number(writers) }, (_, writer) => append(writer)));
await ledger.close();

async function append(writer: number): Promise<void> {
  for (let i = 0; i < Number(count); i += 1) {
    const body = `${label} ${writer} ${i}`;
    const outcome = await ledger.commit({ steps: [program('ledger.append', { body })] });
    if (outcome.kind !== 'committed') throw new Error('an append without expectations met a conflict');
    acknowledge(`${body}\n`);
  }
}
