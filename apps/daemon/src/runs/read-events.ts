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
}

/** As many results as are read at a time. */
const PAGE = 32;

/**
 * Every event after the cursor that can still be told, once and in order, until the run is over. What has left the ring is
 * read from the database, which has every result: so a reader that comes late, or is slow, misses output and steps on the
 * way, and no end of a call.
 */
export function readEvents(source: EventSource, options: ReadOptions): RunEvents {
  return new EventReader(source, options);
}

export interface RunEvents extends AsyncIterableIterator<RunEvent, void, undefined> {
  /** The next one, when it can be told at once. That the reader has it is known when it asks for another by `next`. */
  ready(): RunEvent | undefined;
  /** From now on only what has happened already is wanted. */
  enough(): void;
}

/** A class: thousands of readers stand idle, and what waits in an async generator takes more memory than the run. */
class EventReader implements RunEvents {
  readonly #source: EventSource;
  readonly #options: ReadOptions;
  #cursor: number;
  #store: StoreReader | undefined;
  #isEnough = false;
  #isOver = false;
  /** Once for all the times it waits: whoever else waits for the bell looks, finds nothing, and waits on. */
  #wake: (() => void) | undefined;

  constructor(source: EventSource, options: ReadOptions) {
    this.#source = source;
    this.#options = options;
    this.#cursor = options.after;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  next(): Promise<IteratorResult<RunEvent, void>> {
    const { after, progress } = this.#options;
    const { ring, bell } = this.#source;
    // Whoever asks for the next one has the one before.
    if (!this.#isOver && this.#cursor > after) progress?.took(this.#cursor);
    if (this.#isDone() || this.#cursor < ring.storedUpTo()) return this.#find();

    const rung = bell.rung();
    const event = ring.after(this.#cursor);
    if (isTold(event)) return Promise.resolve(this.#give(event));
    // The idle stand here, and not in `#find`: what an async function keeps while it waits is larger.
    return this.#isAll() ? this.#find() : this.#wait(rung).then(() => this.#find());
  }

  ready(): RunEvent | undefined {
    const { ring } = this.#source;
    if (this.#isDone() || this.#cursor < ring.storedUpTo()) return undefined;
    const event = ring.after(this.#cursor);
    return isTold(event) ? this.#give(event).value : undefined;
  }

  return(): Promise<IteratorResult<RunEvent, void>> {
    return Promise.resolve(this.#leave());
  }

  enough(): void {
    this.#isEnough = true;
    this.#source.bell.ring();
  }

  async #find(): Promise<IteratorResult<RunEvent, void>> {
    const { ring, bell } = this.#source;
    try {
      while (!this.#isDone()) {
        const rung = bell.rung();
        if (this.#cursor < ring.storedUpTo()) this.#store ??= createStoreReader(this.#source);
        const fromStore = await this.#store?.after(this.#cursor);
        const fromRing = ring.after(this.#cursor);
        const isStored = fromStore !== undefined && fromStore.sequence < numberOf(fromRing);
        const event = isStored ? fromStore : fromRing;
        if (isTold(event)) return this.#give(event);
        if (this.#isAll()) break;
        await this.#wait(rung);
      }
    } catch (error) {
      this.#leave();
      throw error;
    }
    return this.#leave();
  }

  #wait(rung: number): Promise<void> {
    const { bell } = this.#source;
    const { signal } = this.#options;
    if (signal.aborted) return Promise.resolve();
    if (this.#wake === undefined) {
      this.#wake = () => bell.ring();
      signal.addEventListener('abort', this.#wake);
    }
    return bell.wait(rung);
  }

  #isDone(): boolean {
    return this.#isOver || this.#options.signal.aborted;
  }

  /** Of what has not happened yet, nothing is waited for. */
  #isAll(): boolean {
    return this.#source.isOver || this.#isEnough;
  }

  #give(event: RunEvent): IteratorYieldResult<RunEvent> {
    this.#cursor = event.sequence;
    return { done: false, value: event };
  }

  #leave(): IteratorReturnResult<void> {
    if (!this.#isOver) this.#options.progress?.leave();
    if (this.#wake !== undefined) this.#options.signal.removeEventListener('abort', this.#wake);
    this.#isOver = true;
    return { done: true, value: undefined };
  }
}

function isTold(found: ReturnType<EventRing['after']>): found is RunEvent {
  return found !== undefined && !('held' in found);
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
