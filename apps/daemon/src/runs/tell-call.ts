import type { AttachedSource, CallEvent, Run, ToolCallResult } from '@palyra/gateway';
import type { Clock } from '@palyra/primitives';
import type { EventRing, HeldPlaces } from './event-ring.ts';
import { endOfCall, type Happening } from './run-event.ts';
import type { Proposal } from './run-hub.ts';
import type { SlowReaders } from './slow-readers.ts';

export interface TellCallDeps {
  readonly ring: EventRing;
  readonly readers: SlowReaders;
  readonly clock: Clock;
  /** Where whoever proposes it began to listen. */
  readonly after: number;
  /** Cancels it. */
  readonly signal: AbortSignal;
  readonly attached: AttachedSource;
}

/** A result and its attestation, which follows it directly. */
const PLACES_OF_A_CALL = 2;
/** Fits the smallest message that can be configured. */
const MOST_IN_A_PIECE = 32 * 1024;
/**
 * Told without a pause, or what the tool puts out meanwhile stands in the middle of it: a command in a box has several such on
 * their way, and none is longer than this.
 */
const MOST_AT_ONCE = 8 * MOST_IN_A_PIECE;

/** Makes a call, and tells all of it as it happens. Resolves and throws as the gateway's `call` does. */
export async function tellCall(
  run: Pick<Run, 'call'>,
  { key, ...proposal }: Proposal,
  { ring, readers, clock, after, signal, attached }: TellCallDeps,
): Promise<ToolCallResult> {
  let id = '';
  let place: HeldPlaces | undefined;
  let ahead: { readonly place: HeldPlaces; readonly happened: Happening[]; readonly count: number } | undefined;
  let repeated: Extract<CallEvent, { readonly kind: 'repeated' }> | undefined;
  const offsets = { stdout: 0, stderr: 0 };
  const said = (happened: Happening) => ({ time: clock.now(), call: { id, key }, happened });
  const tell = (happened: Happening) => {
    if (ahead === undefined) {
      ring.push(said(happened), 'passing');
      return;
    }
    const { happened: before, count } = ahead;
    before.push(happened);
    if (before.length < count) return;
    ahead.place.fill(before.map(said), 'passing');
    ahead = undefined;
  };

  const tellEvent = (event: CallEvent): void => {
    switch (event.kind) {
      case 'accepted':
        id = event.callId;
        tell({ kind: 'accepted', tool: proposal.tool });
        return;
      case 'repeated':
        repeated = event;
        return;
      case 'permitted':
        // Told to whoever is to come for it, and to nobody else.
        return;
      case 'decided':
      case 'approval_requested':
      case 'approval_decided':
      case 'started':
        tell(event);
    }
  };
  const tellEnd = (result: ToolCallResult): void => {
    id = result.call_id;
    const end = endOfCall(result);
    // Durable under these very numbers.
    if (place !== undefined) {
      place.fill(end.map(said), 'stored');
      return;
    }
    // Whoever listens from before its end is told of it there.
    if (repeated !== undefined && repeated.told !== null && repeated.told > after && isToldAt(repeated.told, ring))
      return;
    for (const happened of end) ring.push(said(happened), repeated === undefined ? 'only_here' : 'passing');
  };

  try {
    const result = await run.call({
      ...proposal,
      key,
      signal,
      attached,
      onEvent: tellEvent,
      async onOutput(stream, bytes) {
        for (let from = 0; from < bytes.length; from += MOST_IN_A_PIECE) {
          // A copy: what is kept would else keep the buffer that it came in, or change with it.
          const piece = new Uint8Array(bytes.subarray(from, from + MOST_IN_A_PIECE));
          tell({ kind: 'output', stream, bytes: piece, offset: offsets[stream] });
          offsets[stream] += piece.length;
          if ((from + MOST_IN_A_PIECE) % MOST_AT_ONCE === 0) await readers.caughtUp(signal);
        }
        await readers.caughtUp(signal);
      },
      tellAt(before) {
        const first = before > 0 ? ring.hold(before) : undefined;
        const end = ring.hold(PLACES_OF_A_CALL);
        ahead = first && { place: first, happened: [], count: before };
        place = end;
        return {
          number: end.number,
          release() {
            first?.release();
            end.release();
            if (place === end) ahead = place = undefined;
          },
        };
      },
    });
    tellEnd(result);
    return result;
  } catch (error) {
    ahead?.place.release();
    ahead = undefined;
    place?.release();
    tell({ kind: 'rejected', error });
    throw error;
  }
}

/** Not where nobody knew that it is on record: its place was given up, and nothing will be told there. */
function isToldAt(number: number, ring: EventRing): boolean {
  if (number <= ring.storedUpTo()) return true;
  const next = ring.after(number - 1);
  return next !== undefined && ('held' in next ? next.held : next.sequence) === number;
}
