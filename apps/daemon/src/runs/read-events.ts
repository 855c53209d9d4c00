import type { ToldCall } from '@palyra/gateway';
import type { Bell } from './bell.ts';
import type { EventRing } from './event-ring.ts';
import { endOfCall, type RunEvent } from './run-event.ts';

/** What the database has of a run, from this number on and up to that one, in order. */
export type ReadTold = (page: {
  readonly after: number;
  readonly upTo: number;
  readonly limit: number;
}) => Promise<readonly ToldCall[]>;

export interface EventSource {
  readonly ring: EventRing;
  readonly told: ReadTold;
  /** Rings when there may be something new, or something may be told that could not be before. */
  readonly bell: Bell;
  readonly isOver: boolean;
}

export interface ReadOptions {
  /** The last number that the reader has; 0 for all. */
  readonly after: number;
  readonly signal: AbortSignal;
  /** Told of how far the reader came, and when it leaves. */
  readonly progress?: { took(cursor: number): void; leave(): void } | undefined;
  /** From then on the reader wants only what has happened already. */
  isEnough?(): boolean;
}

/** As many results as are read at a time. */
const PAGE = 32;

/**
 * Every event after the cursor that can still be told, once and in order, until the run is over. What has left the ring is
 * read from the database, which has every result: so a reader that comes late, or is slow, misses output and steps on the
 * way, and no end of a call.
 */
export async function* readEvents(
  source: EventSource,
  { after, signal, progress, isEnough }: ReadOptions,
): AsyncGenerator<RunEvent, void, undefined> {
  const { ring, bell } = source;
  let cursor = after;
  let store: StoreReader | undefined;
  try {
    while (!signal.aborted) {
      const rung = bell.rung();
      if (cursor < ring.storedUpTo()) store ??= createStoreReader(source);
      const fromStore = await store?.after(cursor);
      const fromRing = ring.after(cursor);
      const isStored = fromStore !== undefined && fromStore.sequence < numberOf(fromRing);
      const event = isStored ? fromStore : fromRing;
      if (event === undefined || 'held' in event) {
        if (source.isOver || isEnough?.() === true) return;
        await bell.wait(rung, signal);
        continue;
      }
      cursor = event.sequence;
      yield event;
      progress?.took(cursor);
    }
  } finally {
    progress?.leave();
  }
}

function numberOf(found: ReturnType<EventRing['after']>): number {
  if (found === undefined) return Number.POSITIVE_INFINITY;
  return 'held' in found ? found.held : found.sequence;
}

interface StoreReader {
  after(cursor: number): Promise<RunEvent | undefined>;
}

/** Reads on only where the ring says that something may be missing. */
function createStoreReader({ ring, told }: Pick<EventSource, 'ring' | 'told'>): StoreReader {
  let read: readonly RunEvent[] = [];
  let readUpTo = 0;
  return {
    async after(cursor) {
      read = read.filter(({ sequence }) => sequence > cursor);
      const upTo = ring.storedUpTo();
      if (read.length === 0 && Math.max(cursor, readUpTo) < upTo) {
        // The reader may have a result, and not yet its attestation.
        const calls = await told({ after: cursor - 2, upTo, limit: PAGE });
        if (calls.length < PAGE) readUpTo = upTo;
        read = calls.flatMap(eventsOf).filter(({ sequence }) => sequence > cursor);
      }
      return read[0];
    },
  };
}

function eventsOf({ told, key, result, at: time }: ToldCall): readonly RunEvent[] {
  const call = { id: result.call_id, key: key ?? '' };
  return endOfCall(result).map((happened, at) => ({ sequence: told + at, time, call, happened }));
}
