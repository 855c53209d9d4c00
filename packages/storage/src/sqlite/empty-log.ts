import { Worker } from 'node:worker_threads';
import type { Connection } from './connection.ts';
import { identityOf } from './files-in-place.ts';
import type { EmptierThreadData, WriterThreadData } from './thread-messages.ts';

/** 16 MiB, which is read in a few hundredths of a second after a crash. */
export const LOG_PAGES = 4000;

/** Brings what is in the write-ahead log into the database, so that the log can be written from its beginning again. */
export interface LogEmptier {
  /** After commits, when those who asked for them have their answers. Never throws: what is not done now is done later. */
  look(): void;
  /** Waits for what is under way; what has not begun is left undone. */
  close(): void;
}

export interface LogEmptierDeps {
  readonly connection: Pick<Connection, 'query'>;
  /** It says in the shared word when it is done; `died` is told when it never will be. */
  startHelper(state: EmptierThreadData['state'], died: () => void): EmptierHelper;
}

export interface EmptierHelper {
  ask(): void;
  stop(): void;
}

/** What the shared word says. What was asked for is begun by the helper or taken back by the writer, whoever is first. */
export const EMPTIER = { idle: 0, asked: 1, begun: 2, done: 3, failed: 4 } as const;

const COMMITS_BETWEEN_LOOKS = 16;
const LONGEST_PASS_MS = 10_000;

/**
 * Thousands of pages go from the log into the database, and a flush of them: several hundredths of a second, for which one
 * commit in some hundreds would wait, and all behind it. A thread of its own does that while commits go on. What they add
 * meanwhile is a few pages, and brought over here, for SQLite begins the log anew only where nothing of it is left to bring.
 */
export function createLogEmptier({ connection, startHelper }: LogEmptierDeps): LogEmptier {
  const state = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
  let helper: EmptierHelper | undefined;
  let commits = 0;

  const isFull = () => {
    const { log = 0, checkpointed = 0 } = (connection.query('pragma wal_checkpoint(noop)', []).rows[0] ?? {}) as {
      readonly log?: number;
      readonly checkpointed?: number;
    };
    return log - checkpointed >= LOG_PAGES;
  };
  const bringOver = () => void connection.query('pragma wal_checkpoint(passive)', []);
  const ask = () => {
    helper ??= startHelper(state, () => {
      helper = undefined;
      for (const open of [EMPTIER.asked, EMPTIER.begun]) Atomics.compareExchange(state, 0, open, EMPTIER.failed);
    });
    Atomics.store(state, 0, EMPTIER.asked);
    helper.ask();
  };

  return {
    look() {
      try {
        const now = Atomics.load(state, 0);
        if (now === EMPTIER.asked || now === EMPTIER.begun) return;
        if (now !== EMPTIER.idle) {
          Atomics.store(state, 0, EMPTIER.idle);
          bringOver();
          return;
        }
        commits += 1;
        if (commits % COMMITS_BETWEEN_LOOKS === 0 && isFull()) ask();
      } catch {
        // The database refused, or no thread could be started: the next commit finds the log as full as this one.
      }
    },
    close() {
      // A thread that never starts cannot say so to one that waits here.
      Atomics.compareExchange(state, 0, EMPTIER.asked, EMPTIER.idle);
      Atomics.wait(state, 0, EMPTIER.begun, LONGEST_PASS_MS);
      helper?.stop();
    },
  };
}

/** For a writer whose SQLite must not do it: there, commits empty a log of `MOST_LOG_PAGES` themselves. */
export const NO_EMPTIER: LogEmptier = { look: () => undefined, close: () => undefined };

/**
 * SECURITY: T-32 — before 3.51.3 commits could get lost when one connection brought over a log that another began anew at that
 * moment (sqlite.org/wal.html#walresetbug). The pinned Node has a later one; a release also runs on what the host has.
 */
export function canEmptyBeside(sqlite: string | undefined): boolean {
  const [major = 0, minor = 0, patch = 0] = (sqlite ?? '').split('.').map(Number);
  return major > 3 || (major === 3 && (minor > 51 || (minor === 51 && patch >= 3)));
}

export function emptierThread({
  emptier,
  path,
  lockTimeoutMs,
}: Pick<WriterThreadData, 'emptier' | 'path' | 'lockTimeoutMs'>): LogEmptierDeps['startHelper'] {
  // Asked for now, when the writer has opened it.
  const file = identityOf(path);
  return (state, died) => {
    const workerData = { path, file, lockTimeoutMs, state } satisfies EmptierThreadData;
    const worker = new Worker(new URL(emptier), { workerData });
    // Whatever it dies of, nothing is lost: its work is done here then.
    worker.on('error', () => undefined);
    worker.on('exit', died);
    worker.unref();
    return {
      ask: () => worker.postMessage('empty'),
      stop: () => void worker.terminate(),
    };
  };
}
