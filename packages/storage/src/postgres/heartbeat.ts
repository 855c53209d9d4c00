import type { Clock } from '@palyra/primitives';
import type pg from 'pg';

const HEARTBEAT_MS = 15_000;

/** A connection cut somewhere on the way says nothing by itself: it is asked, and cut here too when it does not answer. */
export async function beatWhileOpen(client: pg.Client, clock: Clock, stopping: AbortSignal): Promise<void> {
  const ended = new AbortController();
  client.once('end', () => ended.abort());
  const over = AbortSignal.any([ended.signal, stopping]);
  try {
    while (!over.aborted) {
      await clock.sleep(HEARTBEAT_MS, over);
      await answerInTime(client, clock, over);
    }
  } catch {
    // Either we are closing, or the connection ended and whoever listens brings the next one.
  }
}

async function answerInTime(client: pg.Client, clock: Clock, over: AbortSignal): Promise<void> {
  const answered = new AbortController();
  const cutWhenOverdue = clock.sleep(HEARTBEAT_MS, AbortSignal.any([answered.signal, over])).then(
    () => client.connection.stream.destroy(),
    () => undefined,
  );
  try {
    await client.query('select 1');
  } finally {
    answered.abort();
    await cutWhenOverdue;
  }
}
