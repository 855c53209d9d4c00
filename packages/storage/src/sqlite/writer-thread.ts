import { type MessagePort, parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads';
import { loadPrograms } from '../program.ts';
import { StorageError, toErrorData } from '../storage-error.ts';
import type { UnitResult } from './commit-batch.ts';
import { openForWriting } from './connection.ts';
import { sqliteBuilder } from './dialect.ts';
import { migrate } from './migrate.ts';
import { sqliteFault } from './sqlite-error.ts';
import type {
  Answer,
  FromThread,
  Request,
  ToThread,
  WriterRequest,
  WriterResult,
  WriterThreadData,
} from './thread-messages.ts';
import { createWriter, type Writer } from './writer.ts';

/** Owns the only connection of this process that writes. It alone waits on the disk. */
const data = workerData as WriterThreadData;
const port = parentPort as MessagePort;

const MAX_UNITS_PER_COMMIT = 1024;

try {
  const programs = await loadPrograms(data.programs);
  const opened = openForWriting(data);
  migrate(opened, data.migrations);
  opened.close();
  serve(createWriter({ programs, build: sqliteBuilder(), origin: data.origin, open: () => openForWriting(data) }));
  send({ kind: 'ready' });
} catch (error) {
  send({ kind: 'failed', error: toErrorData(sqliteFault(error)) });
}

function serve(writer: Writer): void {
  port.on('message', (first: ToThread<WriterRequest>) => {
    const { requests, close } = drain(first);
    while (requests.length > 0) commitAndAnswer(writer, requests.splice(0, MAX_UNITS_PER_COMMIT));
    if (!close) return;
    writer.close();
    port.close();
  });
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

function commitAndAnswer(writer: Writer, requests: readonly Request<WriterRequest>[]): void {
  const results = writer.commit(requests.map(({ body }) => body));
  send({ kind: 'answers', answers: requests.map(({ id }, index) => toAnswer(id, results[index])) });
}

function toAnswer(id: number, result: UnitResult | undefined): Answer<WriterResult> {
  if (result !== undefined && 'outcome' in result) return { id, ok: true, result: result.outcome };
  const error = result?.error ?? new StorageError('storage.outcome_unknown', 'The writer gave no answer.');
  return { id, ok: false, error: toErrorData(error) };
}

function send(message: FromThread<WriterResult>): void {
  port.postMessage(message);
}
