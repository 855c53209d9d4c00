import type { ToldPlace } from '@palyra/gateway';
import type { CallName, Happening, RunEvent } from './run-event.ts';

/** What can be told again, and where it is when it is not here any more. */
export type KeptAs =
  /** Told while it was there, or missed. */
  | 'passing'
  /** In the database, too. */
  | 'stored'
  /** Nowhere else; stays for as long as the ring. */
  | 'only_here';

export interface NewEvent {
  readonly time: number;
  readonly call?: CallName;
  readonly happened: Happening;
}

/** Places that were given away in order, and are told in order: what comes after them waits until they are filled. */
export interface HeldPlaces extends ToldPlace {
  fill(events: readonly NewEvent[], keptAs: KeptAs): void;
}

/** The events of one run, as far as there is room. What has to go first is output, then what the database has, too. */
export interface EventRing {
  push(event: NewEvent, keptAs: KeptAs): void;
  hold(count: number): HeldPlaces;
  /** The first one after this; `held`: a place that was given away, and nothing after it may be told yet. */
  after(cursor: number): RunEvent | { readonly held: number } | undefined;
  /** At or below this number something that the database has may be missing here. */
  storedUpTo(): number;
  /** How much output came after this event, with what each piece of it takes. */
  outputAfter(cursor: number): number;
}

export interface RingBounds {
  /** Of output that is kept. */
  readonly outputBytes: number;
  /** Of everything else, roughly. */
  readonly otherBytes: number;
}

/** Some seconds of a program that writes as fast as it can; a reader that is slower than that has a gap. */
const RING_BOUNDS: RingBounds = { outputBytes: 1024 * 1024, otherBytes: 1024 * 1024 };

/** As many times the other bytes may be there that are nowhere else. */
const MOST_ONLY_HERE = 4;

interface Entry {
  readonly sequence: number;
  /** Absent: given away, and not yet filled. */
  event?: RunEvent;
  keptAs: KeptAs;
  bytes: number;
  /** How much was put out before it in all. */
  readonly outputBefore: number;
}

export interface RingOptions {
  /** The first event of the run, whoever told it. */
  readonly begin: RunEvent;
  /** The next number to give. */
  readonly first: number;
  /** What came before is in the database, up to this number. */
  readonly storedUpTo: number;
  /** Told something new, or that there is nothing to wait for any more. */
  changed(): void;
  readonly bounds?: RingBounds;
}

export function createEventRing(options: RingOptions): EventRing {
  return new BoundedRing(options);
}

/** A class: thousands of runs stand idle, and closures of each would take more than what they hold. */
class BoundedRing implements EventRing {
  #entries: Entry[];
  /** Before it are places of what was dropped: what goes is among the oldest, and the many after it are not moved for it. */
  #head = 0;
  readonly #changed: () => void;
  readonly #bounds: RingBounds;
  #next: number;
  #missingUpTo: number;
  #output = 0;
  #keptOutput = 0;
  #keptOther = 0;

  constructor({ begin, first, storedUpTo, changed, bounds = RING_BOUNDS }: RingOptions) {
    this.#entries = [{ sequence: begin.sequence, event: begin, keptAs: 'only_here', bytes: 0, outputBefore: 0 }];
    this.#next = first;
    this.#missingUpTo = storedUpTo;
    this.#changed = changed;
    this.#bounds = bounds;
  }

  push(event: NewEvent, keptAs: KeptAs): void {
    this.#put(this.#given(), event, keptAs);
    this.#makeRoom();
    this.#changed();
  }

  hold(count: number): HeldPlaces {
    const held = Array.from({ length: count }, () => this.#given());
    const [{ sequence: number }] = held as [Entry];
    return {
      number,
      fill: (events, keptAs) => {
        for (const [at, event] of events.entries()) this.#put(held[at] as Entry, event, keptAs);
        this.#makeRoom();
        this.#changed();
      },
      release: () => {
        for (const entry of held) {
          const at = this.#indexAfter(entry.sequence - 1);
          if (entry.event === undefined && this.#entries[at] === entry) this.#entries.splice(at, 1);
        }
        this.#changed();
      },
    };
  }

  after(cursor: number): RunEvent | { readonly held: number } | undefined {
    const entry = this.#entries[this.#indexAfter(cursor)];
    return entry === undefined ? undefined : (entry.event ?? { held: entry.sequence });
  }

  storedUpTo(): number {
    return this.#missingUpTo;
  }

  outputAfter(cursor: number): number {
    return this.#output - (this.#entries[this.#indexAfter(cursor)]?.outputBefore ?? this.#output);
  }

  #given(): Entry {
    const entry: Entry = { sequence: this.#next, keptAs: 'only_here', bytes: 0, outputBefore: this.#output };
    this.#next += 1;
    this.#entries.push(entry);
    return entry;
  }

  #put(entry: Entry, { time, call, happened }: NewEvent, keptAs: KeptAs): void {
    const { sequence } = entry;
    entry.event = { sequence, time, ...(call === undefined ? {} : { call }), happened };
    entry.keptAs = keptAs;
    entry.bytes = weightOf(happened);
    this.#weigh(entry.event, entry.bytes);
    if (happened.kind === 'output') this.#output += entry.bytes;
  }

  #weigh({ happened }: RunEvent, bytes: number): void {
    if (happened.kind === 'output') this.#keptOutput += bytes;
    else this.#keptOther += bytes;
  }

  #makeRoom(): void {
    const { outputBytes, otherBytes } = this.#bounds;
    while (this.#keptOutput > outputBytes) this.#drop(this.#oldest(isOutput));
    while (this.#keptOther > otherBytes) {
      const at = this.#oldest(isElsewhere);
      if (at !== -1) this.#drop(at);
      // SECURITY: T-39 — even of what is nowhere else there is only so much.
      else if (this.#keptOther > MOST_ONLY_HERE * otherBytes) this.#drop(this.#oldest(isDroppable));
      else return;
    }
  }

  #oldest(fits: (entry: Entry) => boolean): number {
    const entries = this.#entries;
    for (let at = this.#head; at < entries.length; at += 1) if (fits(entries[at] as Entry)) return at;
    return -1;
  }

  #drop(at: number): void {
    const entry = this.#entries[at];
    if (entry?.event === undefined) return;
    this.#entries.copyWithin(this.#head + 1, this.#head, at);
    this.#entries[this.#head] = DROPPED;
    this.#head += 1;
    if (this.#head * 2 > this.#entries.length) {
      this.#entries = this.#entries.slice(this.#head);
      this.#head = 0;
    }
    this.#weigh(entry.event, -entry.bytes);
    if (entry.keptAs === 'stored') this.#missingUpTo = Math.max(this.#missingUpTo, entry.sequence);
  }

  /** Where the first entry after the cursor is, or would be. */
  #indexAfter(cursor: number): number {
    let low = this.#head;
    let high = this.#entries.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#entries[middle] as Entry).sequence <= cursor) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

const DROPPED: Entry = { sequence: 0, keptAs: 'passing', bytes: 0, outputBefore: 0 };

function isElsewhere(entry: Entry): boolean {
  return entry.keptAs !== 'only_here' && !isOutput(entry);
}

function isDroppable({ event }: Entry): boolean {
  return event !== undefined && event.happened.kind !== 'run_started' && event.happened.kind !== 'output';
}

function isOutput({ event }: Entry): boolean {
  return event?.happened.kind === 'output';
}

/** What an event takes besides what it says. */
const OVERHEAD = 256;

function weightOf(happened: Happening): number {
  switch (happened.kind) {
    case 'output':
      return OVERHEAD + happened.bytes.length;
    case 'result': {
      const { stdout, stdout_base64, stderr, stderr_base64, output } = happened.result.outcome;
      const texts = [stdout, stdout_base64, stderr, stderr_base64];
      const said = texts.reduce((sum, text) => sum + (text?.length ?? 0), 0);
      return OVERHEAD + said + sizeOf(output);
    }
    case 'run_started':
    case 'accepted':
    case 'rejected':
    case 'decided':
    case 'approval_requested':
    case 'approval_decided':
    case 'started':
    case 'attestation':
    case 'run_ended':
      return OVERHEAD;
  }
}

/** Roughly, and without making a text of it. */
function sizeOf(value: unknown): number {
  if (typeof value === 'string') return value.length;
  if (typeof value !== 'object' || value === null) return 8;
  return Object.entries(value).reduce((sum, [name, each]) => sum + name.length + sizeOf(each), 8);
}
