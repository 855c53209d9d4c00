import { availableParallelism } from 'node:os';
import { Worker } from 'node:worker_threads';
import { bundledThread, entryUrl } from '@palyra/primitives/bare';
import type { SignedBytes, VerifyCrypto } from './format/crypto.ts';
import { nodeCrypto } from './node-crypto.ts';
import { isPackable, packSigned } from './packed-signatures.ts';
import type { SignatureAnswer, SignatureTask } from './signature-thread.ts';

/** Starting a thread takes as long as this many signatures. */
const FEW = 256;
const BATCH = 64;
const BATCHES_AHEAD = 2;
/** A thread that nobody needed for so long is ended. */
const IDLE_MS = 5_000;

export interface ThreadOptions {
  /** How many signatures of one verification are checked in Node's pool before a thread is asked. */
  readonly few: number;
  readonly mostThreads: number;
  readonly entry: () => URL;
}

/** The thread that reads the log needs a processor, too. */
function mostUseful(): number {
  return Math.min(4, Math.max(1, availableParallelism() - 1));
}

function ownEntry(): URL {
  return bundledThread(entryUrl(import.meta.url, './signature-thread')).entry;
}

/**
 * Makes `nodeCrypto`s, one for each verification, that may have to check many: signatures go in batches to threads of
 * their own, of which there are fewer than processors. Node's pool has four, each is woken for each signature, and on two
 * processors they take the time of the thread that reads the log. What a thread that dies did not answer is checked in the
 * pool, so nothing is ever taken for checked that was not.
 */
export function createSignatureThreads(options: Partial<ThreadOptions> = {}): () => VerifyCrypto {
  const { few = FEW, mostThreads = mostUseful(), entry = ownEntry } = options;
  const threads: Thread[] = [];
  let hasFailed = false;
  let waiting: Check[] = [];

  const freest = (): Thread => {
    const [best] = threads.toSorted((one, other) => one.batches.size - other.batches.size);
    if (best !== undefined && (best.batches.size < BATCHES_AHEAD || threads.length >= mostThreads)) return best;
    const started = startThread(entry(), (how) => {
      threads.splice(threads.indexOf(started), 1);
      // The next one would fail as well.
      hasFailed ||= how === 'failed';
    });
    threads.push(started);
    return started;
  };
  const flush = () => {
    const batch = waiting;
    waiting = [];
    if (batch.length === 0) return;
    try {
      // Before a thread is started for it: there may be no memory, and a thread that is given nothing waits for ever.
      const packed = packSigned(batch.map(({ signed }) => signed));
      freest().send(batch, packed);
    } catch {
      hasFailed = true;
      checkInPool(batch);
    }
  };

  const checkInThread = (signed: SignedBytes) =>
    new Promise<boolean>((resolve) => {
      waiting.push({ signed, resolve });
      if (waiting.length >= BATCH) flush();
      else if (waiting.length === 1) setImmediate(flush);
    });

  return () => {
    let seen = 0;
    return {
      sha256: nodeCrypto.sha256,
      verifyEd25519(signed) {
        seen += 1;
        const isForPool = seen <= few || hasFailed || !isPackable(signed);
        return isForPool ? nodeCrypto.verifyEd25519(signed) : checkInThread(signed);
      },
    };
  };
}

interface Check {
  readonly signed: SignedBytes;
  resolve(holds: boolean | Promise<boolean>): void;
}

interface Thread {
  readonly batches: Map<number, readonly Check[]>;
  /** Throws when it cannot be sent; then it is not among `batches`. */
  send(batch: readonly Check[], packed: Uint8Array<ArrayBuffer>): void;
}

/** `whenGone` is told once, before the thread could be given anything in vain. */
function startThread(entry: URL, whenGone: (how: 'idle' | 'failed') => void): Thread {
  const worker = new Worker(entry);
  const batches = new Map<number, readonly Check[]>();
  let lastId = 0;
  let idle: NodeJS.Timeout | undefined;
  let isGone = false;
  const go = (how: 'idle' | 'failed') => {
    clearTimeout(idle);
    if (!isGone) whenGone(how);
    isGone = true;
  };
  /** A thread that waits for work keeps no process alive. */
  const rest = () => {
    worker.unref();
    idle = setTimeout(() => {
      go('idle');
      void worker.terminate();
    }, IDLE_MS).unref();
  };
  rest();
  worker.on('message', ({ id, holds }: SignatureAnswer) => {
    const batch = batches.get(id) ?? [];
    batches.delete(id);
    for (const [at, { resolve }] of batch.entries()) resolve(holds[at] === 1);
    if (batches.size === 0) rest();
  });
  // It ends right after.
  worker.on('error', () => undefined);
  worker.once('exit', () => {
    go('failed');
    // SECURITY: T-31 — not answered is not checked.
    for (const batch of batches.values()) checkInPool(batch);
    batches.clear();
  });
  return {
    batches,
    send(batch, packed) {
      const task: SignatureTask = { id: lastId + 1, packed };
      worker.postMessage(task, [packed.buffer]);
      lastId += 1;
      batches.set(lastId, batch);
      clearTimeout(idle);
      worker.ref();
    },
  };
}

function checkInPool(batch: readonly Check[]): void {
  for (const { signed, resolve } of batch) resolve(nodeCrypto.verifyEd25519(signed));
}

/** The threads are the process's: who verifies again soon finds those of the last time. */
export const manySignatures: () => VerifyCrypto = createSignatureThreads();
