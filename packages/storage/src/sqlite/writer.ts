import type { UnitPrograms } from '../run-unit.ts';
import { StorageError } from '../storage-error.ts';
import type { CommitUnit } from '../unit.ts';
import type { Bell } from './bell.ts';
import { type BatchResult, commitBatch } from './commit-batch.ts';
import type { Connection } from './connection.ts';
import type { LogEmptier } from './empty-log.ts';
import { createKeptMemories, type KeptMemories } from './kept-memories.ts';
import type { RoomAhead } from './room-ahead.ts';
import { needsReopening, sqliteFault } from './sqlite-error.ts';

export interface Writer {
  /** Never throws: a fault is every unit's answer. */
  commit(units: readonly CommitUnit[]): BatchResult;
  /**
   * When those who asked have their answers, for they are in more of a hurry: rings for what was committed since, has the
   * write-ahead log emptied when it is full, and makes room in it for the next commits.
   */
  tidyUp(): void;
  /** Empties the write-ahead log into the database and cuts it. Throws `StorageError`; `storage.locked` while others read. */
  cutLog(): void;
  close(): void;
}

export interface WriterDeps extends UnitPrograms {
  /** Distinguishes this process's notifications from those of others. */
  readonly origin: string;
  /** Throws `StorageError`. */
  open(): WriterConnection;
  readonly bell: Bell;
}

export interface WriterConnection extends Connection {
  /** Throws `storage.unavailable` when what is written now would be found by nobody. */
  requireInPlace(): void;
  readonly log: Pick<LogEmptier, 'look'>;
  readonly room: RoomAhead;
}

/** Other processes look at least every few hundred milliseconds, so this is hours of ordinary use. */
const KEPT_NOTIFICATIONS = 20_000;
const COMMITS_BETWEEN_PRUNINGS = 1000;

/** Commits batches on a connection that it replaces after the disk failed. Throws what `open` throws the first time. */
export function createWriter({ open, bell, ...context }: WriterDeps): Writer {
  const reopen = (): OpenWriter => {
    const connection = open();
    return { connection, kept: createKeptMemories(connection, context.programs) };
  };
  let current: OpenWriter | undefined = reopen();
  let commits = 0;
  let hasNews = false;

  const prune = (connection: Connection) => {
    try {
      connection.query(
        'delete from palyra_notifications where seq <= (select max(seq) from palyra_notifications) - ?',
        [KEPT_NOTIFICATIONS],
      );
    } catch {
      // Only room is lost, and the next pruning tries again; a fault that matters fails a unit too.
    }
  };

  return {
    commit(units) {
      try {
        current ??= reopen();
        current.connection.requireInPlace();
        const result = commitBatch(units, { ...context, ...current });
        hasNews ||= tellsSomething(units, result);
        commits += 1;
        if (commits % COMMITS_BETWEEN_PRUNINGS === 0) prune(current.connection);
        return result;
      } catch (error) {
        if (needsReopening(error)) {
          abandon(current?.connection);
          current = undefined;
        }
        const fault = sqliteFault(error);
        return { units: units.map(() => ({ error: fault })), sealed: [] };
      }
    },
    tidyUp() {
      if (hasNews) bell.ring();
      hasNews = false;
      current?.connection.log.look();
      current?.connection.room.look();
    },
    cutLog() {
      current ??= reopen();
      try {
        const { rows } = current.connection.query('pragma wal_checkpoint(truncate)', []);
        current.connection.room.forget();
        if (rows[0]?.['busy'] === 0) return;
      } catch (error) {
        throw sqliteFault(error);
      }
      throw new StorageError('storage.locked', 'Somebody still reads what is in the write-ahead log.', {
        fix: 'Try again in a moment.',
      });
    },
    close() {
      bell.close();
      current?.connection.close();
    },
  };
}

function tellsSomething(units: readonly CommitUnit[], { sealed }: BatchResult): boolean {
  return (
    sealed.length > 0 || units.some(({ notifications }) => notifications !== undefined && notifications.length > 0)
  );
}

interface OpenWriter {
  readonly connection: WriterConnection;
  readonly kept: KeptMemories;
}

/** After a failed write to disk nothing that the connection remembers can be trusted, and closing it may fail too. */
function abandon(connection: Connection | undefined): void {
  try {
    connection?.close();
  } catch {
    // The next batch opens another one, and is told when that fails.
  }
}
