import { type MessagePort, parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads';
import { loadPrograms } from '../program.ts';
import { StorageError, toErrorData } from '../storage-error.ts';
import { type BatchContext, commitBatch } from './commit-batch.ts';
import { openForWriting } from './connection.ts';
import { sqliteBuilder } from './dialect.ts';
import { migrate } from './migrate.ts';
import { needsReopening, sqliteFault } from './sqlite-error.ts';
import type {
  Answer,
  FromThread,
  Request,
  ToThread,
  WriterRequest,
  WriterResult,
  WriterThreadData,
} from './thread-messages.ts';

/** Owns the only connection of this process that writes. It alone waits on the disk. */
const data = workerData as WriterThreadData;
const port = parentPort as MessagePort;

const MAX_UNITS_PER_COMMIT = 1024;
/** Other processes look at least every few hundred milliseconds, so this is hours of ordinary use. */
const KEPT_NOTIFICATIONS = 20_000;
const COMMITS_BETWEEN_PRUNINGS = 1000;

let context: BatchContext;
let commits = 0;

try {
  const connection = openForWriting(data);
  migrate(connection, data.migrations);
  context = { connection, programs: await loadPrograms(data.programs), build: sqliteBuilder(), origin: data.origin };
  port.on('message', onMessage);
  send({ kind: 'ready' });
} catch (error) {
  send({ kind: 'failed', error: toErrorData(startFault(error)) });
}

function onMessage(first: ToThread<WriterRequest>): void {
  const { requests, close } = drain(first);
  while (requests.length > 0) commitAndAnswer(requests.splice(0, MAX_UNITS_PER_COMMIT));
  if (close) {
    context.connection.close();
    port.close();
  }
}

/** Everything that arrived while the last commit was on its way to the disk shares the next one. */
function drain(first: ToThread<WriterRequest>): { requests: Request<WriterRequest>[]; close: boolean } {
  const requests: Request<WriterRequest>[] = [];
  for (let message: ToThread<WriterRequest> | undefined = first; message !== undefined; message = receive()) {
    if (message.kind === 'close') return { requests, close: true };
    requests.push(...message.requests);
  }
  return { requests, close: false };
}

function receive(): ToThread<WriterRequest> | undefined {
  return receiveMessageOnPort(port)?.message as ToThread<WriterRequest> | undefined;
}

function commitAndAnswer(requests: readonly Request<WriterRequest>[]): void {
  send({ kind: 'answers', answers: answersFor(requests) });
  commits += 1;
  if (commits % COMMITS_BETWEEN_PRUNINGS === 0) pruneNotifications();
}

function answersFor(requests: readonly Request<WriterRequest>[]): readonly Answer<WriterResult>[] {
  try {
    const results = commitBatch(
      requests.map(({ body }) => body),
      context,
    );
    return results.map((result, index) => {
      const id = requests[index]?.id ?? -1;
      return 'error' in result
        ? { id, ok: false, error: toErrorData(result.error) }
        : { id, ok: true, result: result.outcome };
    });
  } catch (error) {
    if (needsReopening(error)) reopen();
    const failure = toErrorData(sqliteFault(error));
    return requests.map(({ id }) => ({ id, ok: false, error: failure }));
  }
}

function reopen(): void {
  try {
    context.connection.close();
    context = { ...context, connection: openForWriting(data) };
  } catch {
    // Still failing: the next batch fails on the closed connection, is reported, and tries again.
  }
}

function pruneNotifications(): void {
  try {
    context.connection.query(
      'delete from palyra_notifications where seq <= (select max(seq) from palyra_notifications) - ?',
      [KEPT_NOTIFICATIONS],
    );
  } catch {
    // Only room is lost, and the next pruning tries again; a fault that matters fails a unit too.
  }
}

function startFault(error: unknown): StorageError {
  if (error instanceof StorageError) return error;
  if (error instanceof TypeError) return new StorageError('storage.program_failed', error.message, { cause: error });
  return sqliteFault(error);
}

function send(message: FromThread<WriterResult>): void {
  port.postMessage(message);
}
