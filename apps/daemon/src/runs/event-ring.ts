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

export function createEventRing({ begin, first, storedUpTo, changed, bounds = RING_BOUNDS }: RingOptions): EventRing {
  const entries: Entry[] = [{ sequence: begin.sequence, event: begin, keptAs: 'only_here', bytes: 0, outputBefore: 0 }];
  let next = first;
  let missingUpTo = storedUpTo;
  let output = 0;
  const kept = { output: 0, other: 0 };

  const given = (): Entry => {
    const entry: Entry = { sequence: next, keptAs: 'only_here', bytes: 0, outputBefore: output };
    next += 1;
    entries.push(entry);
    return entry;
  };
  const put = (entry: Entry, { time, call, happened }: NewEvent, keptAs: KeptAs): void => {
    const { sequence } = entry;
    entry.event = { sequence, time, ...(call === undefined ? {} : { call }), happened };
    entry.keptAs = keptAs;
    entry.bytes = weightOf(happened);
    kept[sortOf(happened)] += entry.bytes;
    if (happened.kind === 'output') output += entry.bytes;
  };
  const drop = (at: number): void => {
    const [entry] = entries.splice(at, 1);
    if (entry?.event === undefined) return;
    kept[sortOf(entry.event.happened)] -= entry.bytes;
    if (entry.keptAs === 'stored') missingUpTo = Math.max(missingUpTo, entry.sequence);
  };
  const makeRoom = (): void => {
    while (kept.output > bounds.outputBytes) drop(entries.findIndex(isOutput));
    while (kept.other > bounds.otherBytes) {
      const at = entries.findIndex((entry) => entry.keptAs !== 'only_here' && !isOutput(entry));
      if (at !== -1) drop(at);
      // SECURITY: T-39 — even of what is nowhere else there is only so much.
      else if (kept.other > MOST_ONLY_HERE * bounds.otherBytes) drop(entries.findIndex(isDroppable));
      else return;
    }
  };

  return {
    push(event, keptAs) {
      put(given(), event, keptAs);
      makeRoom();
      changed();
    },
    hold(count) {
      const held = Array.from({ length: count }, given);
      const [{ sequence: number }] = held as [Entry];
      return {
        number,
        fill(events, keptAs) {
          for (const [at, event] of events.entries()) put(held[at] as Entry, event, keptAs);
          makeRoom();
          changed();
        },
        release() {
          for (const entry of held) {
            const at = indexAfter(entries, entry.sequence - 1);
            if (entry.event === undefined && entries[at] === entry) entries.splice(at, 1);
          }
          changed();
        },
      };
    },
    after(cursor) {
      const entry = entries[indexAfter(entries, cursor)];
      return entry === undefined ? undefined : (entry.event ?? { held: entry.sequence });
    },
    storedUpTo: () => missingUpTo,
    outputAfter: (cursor) => output - (entries[indexAfter(entries, cursor)]?.outputBefore ?? output),
  };
}

/** Where the first entry after the cursor is, or would be. */
function indexAfter(entries: readonly Entry[], cursor: number): number {
  let low = 0;
  let high = entries.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((entries[middle] as Entry).sequence <= cursor) low = middle + 1;
    else high = middle;
  }
  return low;
}

function isDroppable({ event }: Entry): boolean {
  return event !== undefined && event.happened.kind !== 'run_started' && event.happened.kind !== 'output';
}

function isOutput({ event }: Entry): boolean {
  return event?.happened.kind === 'output';
}

function sortOf({ kind }: Happening): 'output' | 'other' {
  return kind === 'output' ? 'output' : 'other';
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
