import { type MessagePort, parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads';
import { loadPrograms } from '../program.ts';
import { StorageError, toErrorData } from '../storage-error.ts';
import { openBell } from './bell.ts';
import type { UnitResult } from './commit-batch.ts';
import { openForWriting } from './connection.ts';
import { sqliteBuilder } from './dialect.ts';
import { canEmptyBeside, createLogEmptier, emptierThread, NO_EMPTIER } from './empty-log.ts';
import { createPlaceCheck, requireFile } from './files-in-place.ts';
import { migrate } from './migrate.ts';
import { ringSeldom } from './ring-seldom.ts';
import { createRoomAhead, logFile } from './room-ahead.ts';
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
import { createWriter, type Writer, type WriterConnection } from './writer.ts';

/** Owns the only connection of this process that commits. */
const data = workerData as WriterThreadData;
const port = parentPort as MessagePort;

const MAX_UNITS_PER_COMMIT = 1024;

type Outcome = DistributiveOmit<Answer<WriterResult>, 'id'>;
type DistributiveOmit<T, K extends PropertyKey> = T extends unknown ? Omit<T, K> : never;

try {
  const programs = await loadPrograms(data.programs);
  const opened = openForWriting(data);
  if (data.migrations !== undefined) migrate(opened, data.migrations);
  opened.close();
  serve(
    createWriter({
      programs,
      build: sqliteBuilder(),
      origin: data.origin,
      open: openAgain,
      bell: ringSeldom(openBell(data.path)),
    }),
  );
  send({ kind: 'ready' });
} catch (error) {
  send({ kind: 'failed', error: toErrorData(sqliteFault(error)) });
}

/** What was there a moment ago. */
function openAgain(): WriterConnection {
  requireFile(data.path);
  const connection = openForWriting(data);
  const place = createPlaceCheck(data.path);
  const sqlite = process.versions['sqlite'];
  const log = canEmptyBeside(sqlite) ? createLogEmptier({ connection, startHelper: emptierThread(data) }) : NO_EMPTIER;
  return {
    ...connection,
    log,
    room: createRoomAhead({ connection, sqlite, openLog: logFile(`${data.path}-wal`, place.log) }),
    requireInPlace: place.requireInPlace,
    close() {
      log.close();
      place.close();
      connection.close();
    },
  };
}

function serve(writer: Writer): void {
  let answeredAt = -Infinity;
  port.on('message', (first: ToThread<WriterRequest>) => {
    received = (received + 1) | 0;
    const isBusy = performance.now() - answeredAt < LOOK_MS;
    let next: ToThread<WriterRequest> | undefined = first;
    while (next !== undefined) {
      const { requests, close } = drain(next);
      while (requests.length > 0) commitAndAnswer(writer, requests.splice(0, MAX_UNITS_PER_COMMIT));
      if (close) {
        writer.close();
        port.close();
        return;
      }
      answeredAt = performance.now();
      next = isBusy ? lookFor(answeredAt + LOOK_MS) : receive();
    }
  });
}

/** Falling asleep and being woken take longer than signing. Those who were just answered often ask again at once. */
const LOOK_MS = 0.5;

/** Receiving takes the port's lock, and whoever sends would wait for it: so the count is looked at, until it has grown. */
function lookFor(until: number): ToThread<WriterRequest> | undefined {
  for (;;) {
    // Never equal for long: what is received before it is counted makes this negative.
    const isMore = ((Atomics.load(data.sent, 0) - received) | 0) > 0;
    if (isMore || performance.now() > until) return receive();
  }
}

/** Counted round as the other end counts. */
let received = 0;

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
  const message = receiveMessageOnPort(port)?.message as ToThread<WriterRequest> | undefined;
  if (message !== undefined) received = (received + 1) | 0;
  return message;
}

function commitAndAnswer(writer: Writer, requests: readonly Request<WriterRequest>[]): void {
  const units = requests.flatMap(({ body }) => (body.kind === 'unit' ? [body.unit] : []));
  const { units: results, sealed } = units.length > 0 ? writer.commit(units) : { units: [], sealed: [] };
  const inOrder = results.values();
  const answers = requests.map(({ id, body }) =>
    body.kind === 'unit' ? toAnswer(id, inOrder.next().value) : { ...cutLog(writer), id },
  );
  send({ kind: 'answers', answers, ...(sealed.length > 0 ? { notifications: sealed } : {}) });
  writer.tidyUp();
}

function toAnswer(id: number, result: UnitResult | undefined): Answer<WriterResult> {
  if (result !== undefined && 'outcome' in result) return { id, ok: true, result: result.outcome };
  const error = result?.error ?? new StorageError('storage.outcome_unknown', 'The writer gave no answer.');
  return { id, ok: false, error: toErrorData(error) };
}

function cutLog(writer: Writer): Outcome {
  try {
    writer.cutLog();
    return { ok: true, result: { kind: 'committed', results: [] } };
  } catch (error) {
    return { ok: false, error: toErrorData(sqliteFault(error)) };
  }
}

function send(message: FromThread<WriterResult>): void {
  port.postMessage(message);
}
