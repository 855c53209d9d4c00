import { type FSWatcher, watch } from 'node:fs';
import { basename, dirname } from 'node:path';
import type { Notification } from '../unit.ts';
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
 * Tells what other processes committed: their own are told by the writer's acknowledgement. A change of the WAL wakes it
 * at once; file system events get lost now and then (2 of 100 when measured), so a slow poll stands behind them. The WAL
 * is written before the flush and can be read only after it, so an event is a reason to look again and again for a while.
 */
export function watchNotifications(options: WatchOptions): () => void {
  const { connection, path, pollMs } = options;
  const walName = `${basename(path)}-wal`;
  let seen = { version: dataVersion(connection), seq: latestSeq(connection) };

  /** True when something was committed since. */
  const look = (): boolean => {
    const version = dataVersion(connection);
    if (version === seen.version) return false;
    seen = { version, seq: tellSince(seen.seq, options) };
    return true;
  };
  const eager = createEagerness(() => attempt(look, options), pollMs);

  // The directory, not the file: SQLite removes and recreates the WAL.
  const watcher = tryToWatch(dirname(path), (name) => {
    if (name !== walName) return;
    attempt(look, options);
    // Also when there was something: that may have been an earlier commit than the one that is being written.
    eager.begin();
  });
  const timer = setInterval(() => attempt(look, options), pollMs);
  timer.unref();
  return () => {
    clearInterval(timer);
    eager.end();
    watcher?.close();
  };
}

/** How much longer than a flush has taken so far it may take to notice that it is done. */
const LATENESS = 0.3;

/** Looks after 1 ms, and then again and again, at a pace that follows how long it has been, until there is something. */
function createEagerness(look: () => boolean, longestMs: number): { begin(): void; end(): void } {
  let timer: NodeJS.Timeout | undefined;
  const lookAfter = (pauseMs: number, waitedMs: number) => {
    timer = setTimeout(() => {
      if (look()) return;
      const waited = waitedMs + pauseMs;
      const pause = 1 + Math.floor(waited * LATENESS);
      if (pause < longestMs) lookAfter(pause, waited);
    }, pauseMs);
    timer.unref();
  };
  const end = () => clearTimeout(timer);
  return {
    begin() {
      end();
      lookAfter(1, 0);
    },
    end,
  };
}

/** The system has only so many watches; without one the poll alone tells, a little later. */
function tryToWatch(directory: string, changed: (name: string | null) => void): FSWatcher | undefined {
  try {
    const watcher = watch(directory, { persistent: false }, (_event, name) => changed(name));
    watcher.on('error', () => watcher.close());
    return watcher;
  } catch {
    return undefined;
  }
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

function attempt(look: () => boolean, { send }: WatchOptions): boolean {
  try {
    return look();
  } catch {
    // Not being able to look is the same to a subscriber as having missed something.
    send({ kind: 'gap' });
    return true;
  }
}

function dataVersion(connection: Connection): number {
  return Number(connection.query('pragma data_version', []).rows[0]?.['data_version']);
}

function latestSeq(connection: Connection): number {
  return Number(connection.query(LATEST, []).rows[0]?.['seq']);
}
