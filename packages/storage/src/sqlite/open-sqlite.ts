import { randomUUID } from 'node:crypto';
import { lstatSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Logger } from '@palyra/primitives';
import { bundledThread, type Clock, entryUrl, systemClock } from '@palyra/primitives/bare';
import type { Database } from '../database.ts';
import { type Migration, renderMigrations } from '../migration.ts';
import type { ReadOnlyDatabase } from '../open-database.ts';
import type { ProgramModule } from '../program.ts';
import { StorageError } from '../storage-error.ts';
import { createSubscriptions } from '../subscriptions.ts';
import { checkNotifications } from '../unit.ts';
import { sqliteBuilder, sqliteReader } from './dialect.ts';
import { NOTIFICATIONS_MIGRATION, PLAIN_NOTIFICATIONS_MIGRATION, SQLITE_TYPES } from './migrate.ts';
import { received } from './sent-result.ts';
import { startThread, startThreadWhenAsked } from './thread-client.ts';
import type {
  ReaderRequest,
  ReaderResult,
  ReaderThreadData,
  WriterRequest,
  WriterResult,
  WriterThreadData,
} from './thread-messages.ts';

export interface SqliteOptions {
  /** A file in a directory that exists; made when it is not there. */
  readonly path: string;
  readonly migrations: readonly Migration[] | 'as found';
  readonly programs: readonly ProgramModule[];
  /** How long to wait for another process before `storage.locked`. */
  readonly lockTimeoutMs: number;
  readonly logger: Pick<Logger, 'error'>;
}

const POLL_MS = 250;
const LOCKED_PAUSE_MS = 20;
const MAX_WAITING = 10_000;

/** The embedded store: a thread that writes, once asked a thread that reads, and an event loop that does neither. */
export async function openSqlite<Schema>(options: SqliteOptions): Promise<Database<Schema>> {
  const { lockTimeoutMs, logger } = options;
  // Absolute, so that both threads open the same file, and SQLite reads neither a URI nor `:memory:` into it.
  const path = resolve(options.path);
  const origin = randomUUID();
  const subscriptions = createSubscriptions(logger);
  const events = { notified: subscriptions.tell, gap: subscriptions.tellGap };
  const migrations =
    options.migrations === 'as found'
      ? undefined
      : renderMigrations([NOTIFICATIONS_MIGRATION, PLAIN_NOTIFICATIONS_MIGRATION, ...options.migrations], SQLITE_TYPES);
  if (migrations === undefined) requireDatabase(path);

  const { entry, programs } = writerThread(options.programs);
  const sent = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
  const writer = await startThread<WriterRequest, WriterResult>({
    entry,
    data: {
      path,
      lockTimeoutMs,
      migrations,
      programs,
      origin,
      emptier: emptierEntry().href,
      sent,
    } satisfies WriterThreadData,
    maxWaiting: MAX_WAITING,
    lost: 'storage.outcome_unknown',
    events,
    sent,
  });
  // A first read waits for Node to make a thread, some 60 ms. palyrad always reads; on two cores it starts no later for it.
  const reader = startThreadWhenAsked<ReaderRequest, ReaderResult>({
    entry: readerThread(),
    data: { path, lockTimeoutMs, pollMs: POLL_MS, origin } satisfies ReaderThreadData,
    maxWaiting: MAX_WAITING,
    lost: 'storage.unavailable',
    events,
  });

  return {
    dialect: 'sqlite',
    read: sqliteReader<Schema>(async (sql, parameters) =>
      received(await reader.request({ kind: 'query', sql, parameters })),
    ),
    write: sqliteBuilder<Schema>(),
    async commit({ steps, notifications = [] }) {
      const distinct = checkNotifications(notifications);
      const outcome = await writer.request({ kind: 'unit', unit: { steps, notifications: distinct } });
      if (outcome.kind === 'committed') subscriptions.tell(distinct);
      return outcome;
    },
    async scrub() {
      await repeatWhileLocked(() => writer.request({ kind: 'cut log' }), { clock: systemClock, lockTimeoutMs });
    },
    async subscribe(channel, listener) {
      return subscriptions.addWhen(() => reader.request({ kind: 'watch' }), channel, listener);
    },
    async close() {
      await Promise.all([writer.close(), reader.close()]);
    },
  };
}

function writerThread(asked: readonly ProgramModule[]): Pick<SqliteOptions, 'programs'> & { readonly entry: URL } {
  const modules = asked.map(({ module }) => module);
  const { entry, loads } = bundledThread(entryUrl(import.meta.url, './writer-thread'), modules);
  return { entry, programs: asked.map((program, at) => ({ ...program, module: loads[at] ?? program.module })) };
}

function readerThread(): URL {
  return bundledThread(entryUrl(import.meta.url, './reader-thread')).entry;
}

function emptierEntry(): URL {
  return bundledThread(entryUrl(import.meta.url, './emptier-thread')).entry;
}

/** Readers are short: whoever keeps the log from being cut is soon done. */
async function repeatWhileLocked(
  work: () => Promise<unknown>,
  { clock, lockTimeoutMs }: { readonly clock: Clock; readonly lockTimeoutMs: number },
): Promise<void> {
  const deadline = clock.now() + lockTimeoutMs;
  for (;;) {
    try {
      await work();
      return;
    } catch (error) {
      const isLocked = error instanceof StorageError && error.code === 'storage.locked';
      if (!isLocked || clock.now() >= deadline) throw error;
    }
    await clock.sleep(LOCKED_PAUSE_MS);
  }
}

/** Only the reading half. What is not there is not made. */
export async function openSqliteForReading<Schema>(
  options: Pick<SqliteOptions, 'path' | 'lockTimeoutMs'>,
): Promise<ReadOnlyDatabase<Schema>> {
  const path = resolve(options.path);
  requireDatabase(path);
  const reader = await startThread<ReaderRequest, ReaderResult>({
    entry: readerThread(),
    data: { ...options, path, pollMs: POLL_MS, origin: randomUUID() } satisfies ReaderThreadData,
    maxWaiting: MAX_WAITING,
    lost: 'storage.unavailable',
    events: { notified: () => undefined, gap: () => undefined },
  });
  return {
    dialect: 'sqlite',
    read: sqliteReader<Schema>(async (sql, parameters) =>
      received(await reader.request({ kind: 'query', sql, parameters })),
    ),
    close: () => reader.close(),
  };
}

function requireDatabase(path: string): void {
  if (lstatSync(path, { throwIfNoEntry: false })?.isFile() === true) return;
  throw new StorageError('storage.unavailable', 'There is no database yet.', {
    fix: 'Look whether this is the home you mean; palyrad makes the database when it first starts.',
  });
}
