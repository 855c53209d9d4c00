import { describeError } from '@palyra/primitives';
import { openLedger, putAccount } from './ledger-database.ts';

/** A process of its own that opens a SQLite ledger, writes one row and prints how that went. */
const [path = ''] = process.argv.slice(2);

try {
  const ledger = await openLedger({ location: { kind: 'sqlite', path } });
  await putAccount(ledger, 'alice', 1);
  await ledger.close();
  process.stdout.write('written\n');
} catch (error) {
  process.stdout.write(`${describeError(error).code}\n`);
}
