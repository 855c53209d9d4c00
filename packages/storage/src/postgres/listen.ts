import type { Clock, Logger } from '@palyra/primitives';
import type pg from 'pg';
import type { Subscriptions } from '../subscriptions.ts';
import type { Notification } from '../unit.ts';
import { beatWhileOpen } from './heartbeat.ts';

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

/** Listens on one connection from the first `start` on, and says `gap` whenever it had to connect anew. */
export function createListener({ connect, subscriptions, clock, logger }: ListenOptions): NotificationListener {
  const stopping = new AbortController();
  let client: pg.Client | undefined;
  let started: Promise<void> | undefined;

  const listen = async () => {
    const fresh = await listenOn(await connect());
    fresh.on('notification', ({ payload }) => subscriptions.tell(parse(payload)));
    // Only now: a connection that never listened is the caller's failure, and must not bring a second one.
    fresh.once('end', () => {
      client = undefined;
      if (!stopping.signal.aborted) void reconnect();
    });
    client = fresh;
    if (stopping.signal.aborted) await fresh.end();
    else void beatWhileOpen(fresh, clock, stopping.signal);
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

  return {
    start() {
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

async function listenOn(client: pg.Client): Promise<pg.Client> {
  client.on('error', () => undefined);
  try {
    await client.query(`listen ${NOTIFY_CHANNEL}`);
    return client;
  } catch (error) {
    await client.end().catch(() => undefined);
    throw error;
  }
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
