import { type MessagePort, parentPort, workerData } from 'node:worker_threads';
import { toErrorData } from '../storage-error.ts';
import { type Connection, openForReading } from './connection.ts';
import { sqliteFault } from './sqlite-error.ts';
import type {
  Answer,
  FromThread,
  ReaderRequest,
  ReaderResult,
  ReaderThreadData,
  Request,
  ToThread,
} from './thread-messages.ts';
import { watchNotifications } from './watch-notifications.ts';

/** Answers queries on a read-only connection and, once asked, watches for what other processes commit. */
const data = workerData as ReaderThreadData;
const port = parentPort as MessagePort;

let connection: Connection | undefined;
let stopWatching: (() => void) | undefined;

port.on('message', (message: ToThread<ReaderRequest>) => {
  if (message.kind === 'requests') {
    send({ kind: 'answers', answers: message.requests.map(answer) });
    return;
  }
  stopWatching?.();
  connection?.close();
  port.close();
});
send({ kind: 'ready' });

function answer({ id, body }: Request<ReaderRequest>): Answer<ReaderResult> {
  try {
    // Opened with the first question: why it cannot be opened is then the answer, and the next question tries again.
    connection ??= openForReading(data);
    if (body.kind === 'query') return { id, ok: true, result: connection.queryToSend(body.sql, body.parameters) };
    stopWatching ??= watchNotifications({ ...data, connection, send });
    return { id, ok: true, result: { rowCount: 0, rows: [] } };
  } catch (error) {
    return { id, ok: false, error: toErrorData(sqliteFault(error)) };
  }
}

function send(message: FromThread<ReaderResult>): void {
  port.postMessage(message);
}
