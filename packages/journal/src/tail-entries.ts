import type { Database } from '@palyra/storage';
import type { JournalEntry } from './entry-view.ts';
import { type EntryFilter, type LogAddress, queryEntries } from './query-entries.ts';
import type { JournalSchema } from './store/journal-schema.ts';
import { JOURNAL_CHANNEL } from './store/seal-logs.ts';

export interface TailOptions extends EntryFilter {
  /** Entries after this one; -1: from the beginning. */
  readonly after: number;
  readonly signal: AbortSignal;
}

const PAGE = 500;

/**
 * Every entry after the cursor, once and in order, and then those to come until the signal. Being told is only a reason
 * to look: what is delivered always comes from reading on after the last one, so a lost notification loses nothing, and
 * a client that reconnects with the last number it saw misses nothing either.
 */
export async function* tailEntries(
  database: Pick<Database<JournalSchema>, 'read' | 'subscribe'>,
  log: LogAddress,
  { after, signal, ...filter }: TailOptions,
): AsyncGenerator<JournalEntry, void, undefined> {
  const bell = createBell(signal);
  const subscription = await database.subscribe(JOURNAL_CHANNEL, bell.ring);
  try {
    let cursor = after;
    while (!signal.aborted) {
      const rung = bell.rung();
      const page = await queryEntries(database.read, log, { ...filter, cursor, limit: PAGE });
      for (const entry of page.entries) {
        cursor = entry.seq;
        yield entry;
        if (signal.aborted) return;
      }
      if (page.next === undefined) await rung;
    }
  } finally {
    bell.remove();
    subscription.close();
  }
}

/** Rings that come while nobody waits are not lost: the promise is taken before looking. */
function createBell(signal: AbortSignal): { ring(): void; rung(): Promise<void>; remove(): void } {
  let { promise, resolve } = Promise.withResolvers<void>();
  const ring = () => resolve();
  signal.addEventListener('abort', ring, { once: true });
  return {
    ring,
    remove: () => signal.removeEventListener('abort', ring),
    rung() {
      ({ promise, resolve } = Promise.withResolvers<void>());
      if (signal.aborted) resolve();
      return promise;
    },
  };
}
