import type { RenderedMigration } from '../migration.ts';
import type { ProgramModule } from '../program.ts';
import type { StorageErrorData } from '../storage-error.ts';
import type { CommitOutcome, CommitUnit, Notification } from '../unit.ts';
import type { StoredValue } from '../value.ts';
import type { Identity } from './files-in-place.ts';
import type { SentResult } from './sent-result.ts';

/** What the threads are started with. */
export interface WriterThreadData {
  readonly path: string;
  readonly lockTimeoutMs: number;
  /** Absent: the database is taken as it is found. */
  readonly migrations: readonly RenderedMigration[] | undefined;
  readonly programs: readonly ProgramModule[];
  readonly origin: string;
  /** Where the thread that empties the write-ahead log begins, when there is something to empty. */
  readonly emptier: string;
  /** How many messages were sent to the thread: it looks here, where looking keeps nobody from sending. */
  readonly sent: Int32Array<SharedArrayBuffer>;
}

export interface EmptierThreadData {
  readonly path: string;
  /** Which file the writer has there. */
  readonly file: Identity | undefined;
  readonly lockTimeoutMs: number;
  /** One word: see `EMPTIER`. */
  readonly state: Int32Array<SharedArrayBuffer>;
}

export interface ReaderThreadData {
  readonly path: string;
  readonly lockTimeoutMs: number;
  readonly pollMs: number;
  readonly origin: string;
}

/** A request waits for its answer under a number; requests of one turn of the event loop travel together. */
export interface Request<Body> {
  readonly id: number;
  readonly body: Body;
}

export type Answer<Result> =
  | { readonly id: number; readonly ok: true; readonly result: Result }
  | { readonly id: number; readonly ok: false; readonly error: StorageErrorData };

export type WriterRequest =
  | { readonly kind: 'unit'; readonly unit: CommitUnit }
  /** After everything asked before it: nothing of it shall be left in the write-ahead log. */
  | { readonly kind: 'cut log' };
export type WriterResult = CommitOutcome;

export type ReaderRequest =
  | { readonly kind: 'query'; readonly sql: string; readonly parameters: readonly StoredValue[] }
  | { readonly kind: 'watch' };
export type ReaderResult = SentResult;

export type ToThread<Body> =
  | { readonly kind: 'requests'; readonly requests: readonly Request<Body>[] }
  | { readonly kind: 'close' };

export type FromThread<Result> =
  | { readonly kind: 'ready' }
  | { readonly kind: 'failed'; readonly error: StorageErrorData }
  | {
      readonly kind: 'answers';
      readonly answers: readonly Answer<Result>[];
      /** Told with them, for waking the other thread costs as much as a small unit. */
      readonly notifications?: readonly Notification[];
    }
  | { readonly kind: 'notified'; readonly notifications: readonly Notification[] }
  | { readonly kind: 'gap' };
