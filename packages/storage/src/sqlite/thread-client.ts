import { Worker } from 'node:worker_threads';
import { fromErrorData, StorageError } from '../storage-error.ts';
import type { Notification } from '../unit.ts';
import type { Answer, FromThread, Request, ToThread } from './thread-messages.ts';

/** The event loop's end of a worker thread that answers requests. */
export interface ThreadClient<Body, Result> {
  /** Throws `storage.closed` after `close`, `storage.overloaded` when too many requests wait. */
  request(body: Body): Promise<Result>;
  close(): Promise<void>;
}

export interface ThreadEvents {
  notified(notifications: readonly Notification[]): void;
  gap(): void;
}

export interface ThreadOptions {
  readonly entry: URL;
  readonly data: unknown;
  readonly maxWaiting: number;
  /** What to say of requests that were under way when the thread died. */
  readonly lost: 'storage.outcome_unknown' | 'storage.unavailable';
  readonly events: ThreadEvents;
  /** Shared with the thread: counts the messages to it, each once it can be received. */
  readonly sent?: Int32Array<SharedArrayBuffer>;
}

/**
 * When so many have their answers at once, half of them go on a turn of the event loop later. Else all go on in step: this
 * thread works for all of them while the other waits, and then waits while the other works.
 */
const MANY_ANSWERS = 8;

interface Waiting<Result> {
  resolve(result: Result): void;
  reject(error: StorageError): void;
}

/** Resolves when the thread is ready; throws what it failed with. */
export async function startThread<Body, Result>(options: ThreadOptions): Promise<ThreadClient<Body, Result>> {
  const worker = makeWorker(options);
  await ready(worker);
  return connectTo<Body, Result>(worker, options);
}

/**
 * Starts the thread with the first request, for one takes some 60 ms of CPU and many who could ask never do. That request
 * waits for the start, and so does what comes meanwhile: the requests are posted at once and read when the thread is up.
 * A thread that ends before it was ready fails them like one that dies.
 */
export function startThreadWhenAsked<Body, Result>(options: ThreadOptions): ThreadClient<Body, Result> {
  let thread: ThreadClient<Body, Result> | undefined;
  let closed = false;
  return {
    request(body) {
      if (thread === undefined && closed) return Promise.reject(databaseClosed());
      try {
        thread ??= connectTo<Body, Result>(makeWorker(options), options);
      } catch (error) {
        return Promise.reject(error);
      }
      return thread.request(body);
    },
    async close() {
      closed = true;
      await thread?.close();
    },
  };
}

/** Throws at once when the system gives no more threads. */
function makeWorker({ entry, data }: ThreadOptions): Worker {
  try {
    return new Worker(entry, { workerData: data });
  } catch (cause) {
    throw couldNotStart(cause);
  }
}

function ready(worker: Worker): Promise<void> {
  return new Promise((resolve, reject) => {
    worker.once('exit', () =>
      reject(new StorageError('storage.unavailable', 'A storage thread ended before it was ready.')),
    );
    worker.once('error', (cause) => reject(couldNotStart(cause)));
    worker.once('message', (message: FromThread<never>) => {
      if (message.kind === 'ready') resolve();
      else if (message.kind === 'failed') reject(fromErrorData(message.error));
    });
  });
}

function connectTo<Body, Result>(
  worker: Worker,
  { maxWaiting, lost, events, sent }: ThreadOptions,
): ThreadClient<Body, Result> {
  const waiting = new Map<number, Waiting<Result>>();
  let outbox: Request<Body>[] = [];
  const heldBack: Answer<Result>[] = [];
  let nextId = 0;
  let closed = false;
  let died = false;
  const exited = new Promise<void>((resolve) => worker.once('exit', () => resolve()));

  const post = (message: ToThread<Body>) => {
    worker.postMessage(message);
    if (sent !== undefined) Atomics.add(sent, 0, 1);
  };
  const flush = () => {
    const requests = outbox;
    outbox = [];
    if (requests.length === 0) return;
    try {
      post({ kind: 'requests', requests });
    } catch {
      // One of them does not survive the journey; it must not take the others with it.
      for (const request of requests) postAlone(request);
    }
  };
  const postAlone = (request: Request<Body>) => {
    try {
      post({ kind: 'requests', requests: [request] });
    } catch (cause) {
      const error = new StorageError(
        'storage.invalid_parameter',
        'A program input holds something that cannot be sent to the writer.',
        { cause },
      );
      waiting.get(request.id)?.reject(error);
      waiting.delete(request.id);
    }
  };

  const settleHeldBack = () => {
    for (const answer of heldBack.splice(0)) settle(waiting, answer);
  };
  const handOut = (answers: readonly Answer<Result>[]) => {
    settleHeldBack();
    const now = answers.length > MANY_ANSWERS ? Math.ceil(answers.length / 2) : answers.length;
    for (const answer of answers.slice(0, now)) settle(waiting, answer);
    if (now === answers.length) return;
    heldBack.push(...answers.slice(now));
    setImmediate(settleHeldBack);
  };

  worker.on('message', (message: FromThread<Result>) => {
    if (message.kind === 'answers') {
      handOut(message.answers);
      if (message.notifications !== undefined) events.notified(message.notifications);
    } else if (message.kind === 'notified') events.notified(message.notifications);
    else if (message.kind === 'gap') events.gap();
  });
  worker.on('error', (cause) => {
    died = true;
    settleHeldBack();
    failAll(waiting, new StorageError(lost, 'A storage thread died.', { cause }));
  });
  void exited.then(() => {
    died ||= !closed;
    settleHeldBack();
    failAll(waiting, new StorageError(lost, 'A storage thread ended before it answered.'));
    // Units may have been committed whose notifications nobody told.
    if (died) events.gap();
  });

  return {
    request(body) {
      if (died) return Promise.reject(threadDied());
      if (closed) return Promise.reject(databaseClosed());
      if (waiting.size >= maxWaiting) return Promise.reject(overloaded(maxWaiting));
      return new Promise<Result>((resolve, reject) => {
        const id = nextId++;
        waiting.set(id, { resolve, reject });
        // Requests made in one turn of the loop travel in one message, and so share one commit.
        if (outbox.length === 0) queueMicrotask(flush);
        outbox.push({ id, body });
      });
    },
    async close() {
      if (!closed && !died) {
        closed = true;
        flush();
        post({ kind: 'close' });
      }
      await exited;
    },
  };
}

function settle<Result>(waiting: Map<number, Waiting<Result>>, answer: Answer<Result>): void {
  const waiter = waiting.get(answer.id);
  waiting.delete(answer.id);
  if (answer.ok) waiter?.resolve(answer.result);
  else waiter?.reject(fromErrorData(answer.error));
}

function failAll<Result>(waiting: Map<number, Waiting<Result>>, error: StorageError): void {
  for (const waiter of waiting.values()) waiter.reject(error);
  waiting.clear();
}

function couldNotStart(cause: unknown): StorageError {
  return new StorageError('storage.unavailable', 'A storage thread could not start.', { cause });
}

function databaseClosed(): StorageError {
  return new StorageError('storage.closed', 'The database is closed.');
}

function threadDied(): StorageError {
  return new StorageError('storage.unavailable', 'A storage thread died.', {
    fix: 'Restart palyrad; its log says why.',
  });
}

function overloaded(limit: number): StorageError {
  return new StorageError('storage.overloaded', `Over ${limit} requests wait for the database.`, {
    fix: 'Try again in a moment.',
  });
}
