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

/**
 * The program that one watches is held back while its reader is behind, as a pipe would.
 * SECURITY: T-39 — a reader that stands still holds it for so long and no longer, and costs no memory: it has a gap then.
 */
export function createSlowReaders(deps: SlowReadersDeps): SlowReaders {
  return new Readers(deps);
}

/** Classes: thousands of runs stand idle, and closures of each would take more than what they hold. */
class Readers implements SlowReaders {
  readonly deps: SlowReadersDeps;
  #joined: readonly Reader[] = [];
  // Made when a tool first waits: most never do.
  #bell: Bell | undefined;

  constructor(deps: SlowReadersDeps) {
    this.deps = deps;
  }

  join(cursor: number): WaitedReader {
    const reader = new Reader(this, cursor);
    this.#joined = [...this.#joined, reader];
    return reader;
  }

  async caughtUp(signal: AbortSignal): Promise<void> {
    const { clock, patienceMs } = this.deps;
    while (!signal.aborted) {
      const late = this.#joined.filter((reader) => reader.isLate());
      if (late.length === 0) return;
      const before = late.map(({ cursor }) => cursor);
      this.#bell ??= createBell();
      if (await hasRung(this.#bell, { clock, patienceMs, signal })) continue;
      for (const [at, reader] of late.entries()) if (reader.cursor === before[at]) reader.isGivenUp = true;
    }
  }

  moved(): void {
    this.#bell?.ring();
  }

  without(reader: Reader): void {
    this.#joined = this.#joined.filter((each) => each !== reader);
    this.moved();
  }
}

class Reader implements WaitedReader {
  readonly #among: Readers;
  cursor: number;
  /** It took nothing for too long: nobody waits for it until it has caught up. */
  isGivenUp = false;

  constructor(among: Readers, cursor: number) {
    this.#among = among;
    this.cursor = cursor;
  }

  took(now: number): void {
    this.cursor = now;
    if (this.isGivenUp && this.#among.deps.behind(now) === 0) this.isGivenUp = false;
    this.#among.moved();
  }

  leave(): void {
    this.#among.without(this);
  }

  isLate(): boolean {
    return !this.isGivenUp && this.#among.deps.behind(this.cursor) > MOST_BEHIND;
  }
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
