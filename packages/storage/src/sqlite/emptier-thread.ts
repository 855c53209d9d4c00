import { type MessagePort, parentPort, workerData } from 'node:worker_threads';
import { openForWriting } from './connection.ts';
import { EMPTIER } from './empty-log.ts';
import { identityOf, isSame } from './files-in-place.ts';
import type { EmptierThreadData } from './thread-messages.ts';

/** Brings pages from the log into the database while the writer goes on: SQLite lets one do this beside one who writes. */
const data = workerData as EmptierThreadData;
const port = parentPort as MessagePort;

port.on('message', () => {
  const { asked, begun } = EMPTIER;
  if (Atomics.compareExchange(data.state, 0, asked, begun) !== asked) return;
  Atomics.store(data.state, 0, empty() ? EMPTIER.done : EMPTIER.failed);
  Atomics.notify(data.state, 0);
});

/** Opened anew for each pass: they are seldom, and what is not open keeps nobody from putting the files away. */
function empty(): boolean {
  try {
    // SECURITY: T-32 — another file that took its name has nothing to do with the log that lies beside it.
    if (data.file === undefined || !isSame(identityOf(data.path), data.file)) return false;
    const connection = openForWriting(data);
    try {
      connection.query('pragma wal_checkpoint(passive)', []);
      return true;
    } finally {
      connection.close();
    }
  } catch {
    return false;
  }
}
