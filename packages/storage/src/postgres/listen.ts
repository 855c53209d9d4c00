import type { Clock, Logger } from '@palyra/primitives';
import type pg from 'pg';
import type { Subscriptions } from '../subscriptions.ts';
import type { Notification } from '../unit.ts';

/** All our channels share one of PostgreSQL's, so that a new subscriber costs the server nothing. */
export const NOTIFY_CHANNEL = 'palyra';

export interface ListenOptions {
  readonly subscriptions: Subscriptions;
  readonly clock: Clock;
  readonly logger: Pick<Logger, 'error'>;
  connect(): Promise<pg.Client>;
}

export interface NotificationListener {
  /** Resolves when the server has promised to tell; throws when it cannot be reached. */
  start(): Promise<void>;
  close(): Promise<void>;
}

const FIRST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 2_000;
/** A connection cut somewhere on the way says nothing by itself. */
const HEARTBEAT_MS = 15_000;

/** Listens on one connection for as long as anybody subscribes, and says `gap` whenever it had to connect anew. */
export function createListener({ connect, subscriptions, clock, logger }: ListenOptions): NotificationListener {
  const stopping = new AbortController();
  let client: pg.Client | undefined;
  let started: Promise<void> | undefined;

  const listen = async () => {
    const fresh = await connect();
    fresh.on('error', () => undefined);
    fresh.once('end', () => {
      client = undefined;
      if (!stopping.signal.aborted) void reconnect();
    });
    fresh.on('notification', ({ payload }) => subscriptions.tell(parse(payload)));
    await fresh.query(`listen ${NOTIFY_CHANNEL}`);
    client = fresh;
    if (stopping.signal.aborted) await fresh.end();
    else void beat(fresh);
  };

  const reconnect = async () => {
    for (let pause = FIRST_PAUSE_MS; !stopping.signal.aborted; pause = Math.min(pause * 2, LONGEST_PAUSE_MS)) {
      try {
        await clock.sleep(pause, stopping.signal);
        await listen();
        subscriptions.tellGap();
        return;
      } catch (error) {
        if (!stopping.signal.aborted) logger.error({ err: error }, 'listening to PostgreSQL failed; trying again');
      }
    }
  };

  const beat = async (current: pg.Client) => {
    try {
      while (client === current) {
        await clock.sleep(HEARTBEAT_MS, stopping.signal);
        await answerInTime(current);
      }
    } catch {
      // Either we are closing, or the connection ended and `end` brings the next one.
    }
  };

  const answerInTime = async (current: pg.Client) => {
    const answered = new AbortController();
    const cutWhenOverdue = clock.sleep(HEARTBEAT_MS, AbortSignal.any([answered.signal, stopping.signal])).then(
      () => current.connection.stream.destroy(),
      () => undefined,
    );
    try {
      await current.query('select 1');
    } finally {
      answered.abort();
      await cutWhenOverdue;
    }
  };

  return {
    start: () => {
      started ??= listen().catch((error: unknown) => {
        started = undefined;
        throw error;
      });
      return started;
    },
    async close() {
      stopping.abort();
      await client?.end();
    },
  };
}

function parse(payload: string | undefined): readonly Notification[] {
  try {
    const { channel, payload: text } = JSON.parse(payload ?? '') as Partial<Notification>;
    return typeof channel === 'string' && typeof text === 'string' ? [{ channel, payload: text }] : [];
  } catch {
    // Anybody with access to the database may notify; what is not ours says nothing to us.
    return [];
  }
}
