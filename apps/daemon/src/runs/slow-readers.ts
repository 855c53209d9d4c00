import type { Clock } from '@palyra/primitives';
import { type Bell, createBell } from './bell.ts';

/** One that the tool waits for, within bounds. */
export interface WaitedReader {
  /** It has everything up to this event. */
  took(cursor: number): void;
  leave(): void;
}

/** Whether a tool that writes has to wait for those who read. */
export interface SlowReaders {
  join(cursor: number): WaitedReader;
  /** Resolves when nobody is too far behind, or when whoever is has been waited for long enough. */
  caughtUp(signal: AbortSignal): Promise<void>;
}

export interface SlowReadersDeps {
  /** How much output comes after this event. */
  behind(cursor: number): number;
  readonly clock: Clock;
  readonly patienceMs: number;
}

/** Less than the ring holds, so that a reader that is waited for misses nothing. */
const MOST_BEHIND = 256 * 1024;

interface Reader {
  cursor: number;
  /** It took nothing for too long: nobody waits for it until it has caught up. */
  isGivenUp: boolean;
}

/**
 * The program that one watches is held back while its reader is behind, as a pipe would.
 * SECURITY: T-39 — a reader that stands still holds it for so long and no longer, and costs no memory: it has a gap then.
 */
export function createSlowReaders({ behind, clock, patienceMs }: SlowReadersDeps): SlowReaders {
  let readers: readonly Reader[] = [];
  // Made when a tool first waits: most never do.
  let bell: Bell | undefined;
  const isLate = (reader: Reader) => !reader.isGivenUp && behind(reader.cursor) > MOST_BEHIND;

  return {
    join(cursor) {
      const reader: Reader = { cursor, isGivenUp: false };
      readers = [...readers, reader];
      return {
        took(now) {
          reader.cursor = now;
          if (reader.isGivenUp && behind(now) === 0) reader.isGivenUp = false;
          bell?.ring();
        },
        leave() {
          readers = readers.filter((each) => each !== reader);
          bell?.ring();
        },
      };
    },
    async caughtUp(signal) {
      while (!signal.aborted) {
        const late = readers.filter(isLate);
        if (late.length === 0) return;
        const before = late.map(({ cursor }) => cursor);
        bell ??= createBell();
        if (await hasRung(bell, { clock, patienceMs, signal })) continue;
        for (const [at, reader] of late.entries()) if (reader.cursor === before[at]) reader.isGivenUp = true;
      }
    },
  };
}

interface Patience extends Pick<SlowReadersDeps, 'clock' | 'patienceMs'> {
  readonly signal: AbortSignal;
}

/** False when the time was over first. */
async function hasRung(bell: Bell, { clock, patienceMs, signal }: Patience): Promise<boolean> {
  const over = new AbortController();
  const isLate = clock.sleep(patienceMs, over.signal).then(
    () => true,
    () => false,
  );
  const rung = bell.wait(bell.rung(), AbortSignal.any([signal, over.signal])).then(() => false);
  const late = await Promise.race([isLate, rung]);
  // With a word, or an exception with its stack is made of it, for nobody.
  over.abort('over');
  return !late;
}
