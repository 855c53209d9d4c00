import type { Notification } from '../unit.ts';
import { listenToBell } from './bell.ts';
import type { Connection } from './connection.ts';
import type { FromThread } from './thread-messages.ts';

interface WatchOptions {
  readonly path: string;
  readonly pollMs: number;
  readonly origin: string;
  readonly connection: Connection;
  send(message: FromThread<never>): void;
}

interface NotificationRow extends Notification {
  readonly seq: number;
  readonly origin: string;
}

const LATEST = 'select coalesce(max(seq), 0) as seq from palyra_notifications';
const SINCE = 'select seq, channel, payload, origin from palyra_notifications where seq > ? order by seq limit 1000';

/**
 * Tells what other processes committed: their own are told by the writer's acknowledgement. They ring after each commit
 * that tells something; file system events get lost now and then (2 of 100 when measured), so a slow poll stands behind.
 */
export function watchNotifications(options: WatchOptions): () => void {
  const { connection, path, pollMs } = options;
  let seen = { version: dataVersion(connection), seq: latestSeq(connection) };
  const look = () => {
    const version = dataVersion(connection);
    if (version !== seen.version) seen = { version, seq: tellSince(seen.seq, options) };
  };
  const stopListening = listenToBell(path, () => attempt(look, options));
  const timer = setInterval(() => attempt(look, options), pollMs);
  timer.unref();
  return () => {
    clearInterval(timer);
    stopListening();
  };
}

function tellSince(since: number, { connection, origin, send }: WatchOptions): number {
  let seq = since;
  for (;;) {
    const rows = connection.query(SINCE, [seq]).rows as unknown as readonly NotificationRow[];
    const [first] = rows;
    const last = rows.at(-1);
    if (first === undefined || last === undefined) return seq;
    // Sequence numbers have no holes unless the writer pruned rows that we never saw.
    if (first.seq > seq + 1) send({ kind: 'gap' });
    const notifications = rows
      .filter((row) => row.origin !== origin)
      .map(({ channel, payload }) => ({ channel, payload }));
    if (notifications.length > 0) send({ kind: 'notified', notifications });
    seq = last.seq;
  }
}

function attempt(look: () => void, { send }: WatchOptions): void {
  try {
    look();
  } catch {
    // Not being able to look is the same to a subscriber as having missed something.
    send({ kind: 'gap' });
  }
}

function dataVersion(connection: Connection): number {
  return Number(connection.query('pragma data_version', []).rows[0]?.['data_version']);
}

function latestSeq(connection: Connection): number {
  return Number(connection.query(LATEST, []).rows[0]?.['seq']);
}
