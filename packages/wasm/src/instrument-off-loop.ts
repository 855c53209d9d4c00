import { Worker } from 'node:worker_threads';
import { bundledThread, entryUrl } from '@palyra/primitives/bare';
import type { InstrumentResult } from './instrument.ts';
import type { InstrumentAnswer, InstrumentTask } from './instrument-thread.ts';
import { completeLimits, type ModuleLimits } from './limits.ts';
import { WasmError } from './wasm-error.ts';

/** `instrument` on a thread of its own, which stays for the next module: the second one takes a fraction of the first. */
export interface Instrumenter {
  /** As `instrument`; throws `WasmError` also when the thread dies, and then the next call starts another. */
  instrument(bytes: Uint8Array, limits?: Partial<ModuleLimits>): Promise<InstrumentResult>;
  /** Ends the thread; what still waits is refused. */
  close(): Promise<void>;
}

interface Waiting {
  resolve(result: InstrumentResult): void;
  reject(error: WasmError): void;
}

interface Thread {
  readonly worker: Worker;
  readonly waiting: Map<number, Waiting>;
}

export function createInstrumenter(): Instrumenter {
  let thread: Thread | undefined;
  let lastId = 0;
  let isClosed = false;

  function running(): Thread {
    if (isClosed) throw failed('The instrumenter is closed.');
    thread ??= startThread((ended) => {
      if (thread === ended) thread = undefined;
    });
    return thread;
  }

  return {
    async instrument(bytes, limits = {}) {
      completeLimits(limits);
      const { worker, waiting } = running();
      lastId += 1;
      const task: InstrumentTask = { id: lastId, bytes, limits };
      return new Promise((resolve, reject) => {
        waiting.set(task.id, { resolve, reject });
        worker.ref();
        worker.postMessage(task);
      });
    },
    async close() {
      isClosed = true;
      await thread?.worker.terminate();
    },
  };
}

function startThread(whenEnded: (thread: Thread) => void): Thread {
  const worker = new Worker(bundledThread(entryUrl(import.meta.url, './instrument-thread')).entry);
  const thread: Thread = { worker, waiting: new Map() };
  const end = (cause?: unknown): void => {
    whenEnded(thread);
    for (const { reject } of thread.waiting.values()) reject(failed('The thread that meters modules ended.', cause));
    thread.waiting.clear();
  };
  worker.on('message', ({ id, result }: InstrumentAnswer) => {
    thread.waiting.get(id)?.resolve(result);
    thread.waiting.delete(id);
    // A thread that waits for work keeps no process alive.
    if (thread.waiting.size === 0) worker.unref();
  });
  // SECURITY: T-26 — a thread that dies of a module has metered nothing, and nothing of it is run.
  worker.once('error', end);
  worker.once('exit', () => end());
  return thread;
}

function failed(message: string, cause?: unknown): WasmError {
  return new WasmError('wasm.instrumentation_failed', message, { fix: 'Try again, or look at the log.', cause });
}
