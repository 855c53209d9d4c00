import { randomUUID } from 'node:crypto';
import { resolve } from 'node:path';
import { entryUrl, type Logger } from '@palyra/primitives';
import type { Database } from '../database.ts';
import { type Migration, renderMigrations } from '../migration.ts';
import type { ProgramModule } from '../program.ts';
import { createSubscriptions } from '../subscriptions.ts';
import { checkNotifications } from '../unit.ts';
import { sqliteBuilder, sqliteReader } from './dialect.ts';
import { NOTIFICATIONS_MIGRATION, SQLITE_TYPES } from './migrate.ts';
import { startThread, type ThreadClient } from './thread-client.ts';
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
  readonly migrations: readonly Migration[];
  readonly programs: readonly ProgramModule[];
  /** How long to wait for another process before `storage.locked`. */
  readonly lockTimeoutMs: number;
  readonly logger: Pick<Logger, 'error'>;
}

const POLL_MS = 250;
const MAX_WAITING = 10_000;

/** The embedded store: a thread that writes, a thread that reads, and an event loop that does neither. */
export async function openSqlite<Schema>(options: SqliteOptions): Promise<Database<Schema>> {
  const { lockTimeoutMs, programs, logger } = options;
  // Absolute, so that both threads open the same file, and SQLite reads neither a URI nor `:memory:` into it.
  const path = resolve(options.path);
  const origin = randomUUID();
  const subscriptions = createSubscriptions(logger);
  const events = { notified: subscriptions.tell, gap: subscriptions.tellGap };
  const migrations = renderMigrations([NOTIFICATIONS_MIGRATION, ...options.migrations], SQLITE_TYPES);

  const { writer, reader } = await startBoth(
    startThread<WriterRequest, WriterResult>({
      entry: entryUrl(import.meta.url, './writer-thread'),
      data: { path, lockTimeoutMs, migrations, programs, origin } satisfies WriterThreadData,
      maxWaiting: MAX_WAITING,
      lost: 'storage.outcome_unknown',
      events,
    }),
    startThread<ReaderRequest, ReaderResult>({
      entry: entryUrl(import.meta.url, './reader-thread'),
      data: { path, lockTimeoutMs, pollMs: POLL_MS, origin } satisfies ReaderThreadData,
      maxWaiting: MAX_WAITING,
      lost: 'storage.unavailable',
      events,
    }),
  );

  return {
    read: sqliteReader<Schema>((sql, parameters) => reader.request({ kind: 'query', sql, parameters })),
    write: sqliteBuilder<Schema>(),
    async commit({ steps, notifications = [] }) {
      const distinct = checkNotifications(notifications);
      const outcome = await writer.request({ steps, notifications: distinct });
      if (outcome.kind === 'committed') subscriptions.tell(distinct);
      return outcome;
    },
    async subscribe(channel, listener) {
      return subscriptions.addWhen(() => reader.request({ kind: 'watch' }), channel, listener);
    },
    async close() {
      await Promise.all([writer.close(), reader.close()]);
    },
  };
}

type Writer = ThreadClient<WriterRequest, WriterResult>;
type Reader = ThreadClient<ReaderRequest, ReaderResult>;

/** At once, for most of starting is loading code; when one fails, the other is not left behind. */
async function startBoth(
  writing: Promise<Writer>,
  reading: Promise<Reader>,
): Promise<{ writer: Writer; reader: Reader }> {
  const [writer, reader] = await Promise.allSettled([writing, reading]);
  if (writer.status === 'fulfilled' && reader.status === 'fulfilled')
    return { writer: writer.value, reader: reader.value };
  for (const thread of [writer, reader]) if (thread.status === 'fulfilled') await thread.value.close();
  throw writer.status === 'rejected' ? writer.reason : (reader as PromiseRejectedResult).reason;
}
