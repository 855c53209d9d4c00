import type { ToldCall, ToolCallResult } from '@palyra/gateway';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createBell } from './bell.ts';
import { createEventRing, type EventRing, type RingBounds } from './event-ring.ts';
import { type EventSource, readEvents } from './read-events.ts';
import { endOfCall, type Happening, type RunEvent } from './run-event.ts';

const BEGIN: RunEvent = {
  sequence: 1,
  time: 0,
  happened: { kind: 'run_started', runId: 'run', session: 'session', workspace: { id: 'work', root: '/work' } },
};

const resultOf = (id: string, stdout: string) => ({ call_id: id, outcome: { stdout } }) as ToolCallResult;

/** A ring, and the database beside it, which has every result. */
function createPlace(bounds: RingBounds, first = 2, storedUpTo = 0) {
  const bell = createBell();
  const ring = createEventRing({ begin: BEGIN, first, storedUpTo, changed: () => bell.ring(), bounds });
  const stored: ToldCall[] = [];
  const source: EventSource & { isOver: boolean } = {
    ring,
    bell,
    isOver: false,
    told: async ({ after, upTo, limit }) => stored.filter(({ told }) => told > after && told <= upTo).slice(0, limit),
  };
  return { ring, stored, source };
}

type Place = ReturnType<typeof createPlace>;

function tell({ ring }: { readonly ring: EventRing }, happened: Happening): void {
  ring.push({ time: 0, call: { id: 'c', key: 'k' }, happened }, 'passing');
}

function endCall({ ring, stored }: Place, id: string, stdout = ''): void {
  const place = ring.hold(2);
  const result = resultOf(id, stdout);
  stored.push({ told: place.number, key: id, result, at: 0 });
  place.fill(
    endOfCall(result).map((happened) => ({ time: 0, call: { id, key: id }, happened })),
    'stored',
  );
}

async function read(place: Place, after: number, most = Number.POSITIVE_INFINITY): Promise<RunEvent[]> {
  place.source.isOver = true;
  const events: RunEvent[] = [];
  for await (const event of readEvents(place.source, { after, signal: new AbortController().signal })) {
    events.push(event);
    if (events.length >= most) break;
  }
  return events;
}

const isEnd = ({ happened: { kind } }: RunEvent) => kind === 'result' || kind === 'attestation';

const acts = fc.array(
  fc.oneof(
    fc.record({ kind: fc.constant('output' as const), bytes: fc.integer({ min: 1, max: 2_000 }) }),
    fc.record({ kind: fc.constant('step' as const) }),
    fc.record({ kind: fc.constant('end' as const), bytes: fc.integer({ min: 0, max: 2_000 }) }),
  ),
  { maxLength: 60 },
);

test('however little room there is, a reader that comes from anywhere gets every end after it, once and in order', async () => {
  const bounds = fc.record({
    outputBytes: fc.integer({ min: 300, max: 20_000 }),
    otherBytes: fc.integer({ min: 300, max: 20_000 }),
  });
  await fc.assert(
    fc.asyncProperty(acts, bounds, fc.nat(80), async (happening, room, cut) => {
      const place = createPlace(room);
      for (const [at, act] of happening.entries()) {
        if (act.kind === 'output')
          tell(place, { kind: 'output', stream: 'stdout', bytes: new Uint8Array(act.bytes), offset: at });
        else if (act.kind === 'step') tell(place, { kind: 'started' });
        else endCall(place, `c${at}`, 'x'.repeat(act.bytes));
      }
      const all = await read(place, 0);
      const numbers = all.map(({ sequence }) => sequence);
      expect(numbers).toEqual([...new Set(numbers)].toSorted((one, other) => one - other));
      expect(all.filter(isEnd).map(({ sequence }) => sequence)).toEqual(
        place.stored.flatMap(({ told }) => [told, told + 1]),
      );
      // Cut anywhere, and gone on with from there: the same.
      const head = await read(place, 0, cut + 1);
      const tail = await read(place, head.at(-1)?.sequence ?? 0);
      expect([...head, ...tail]).toEqual(all);
    }),
  );
});

test('with room for all of it nothing is missing', async () => {
  await fc.assert(
    fc.asyncProperty(acts, async (happening) => {
      const place = createPlace({ outputBytes: 1e9, otherBytes: 1e9 });
      for (const [at, act] of happening.entries()) {
        if (act.kind === 'end') endCall(place, `c${at}`);
        else
          tell(
            place,
            act.kind === 'step'
              ? { kind: 'started' }
              : { kind: 'output', stream: 'stderr', bytes: new Uint8Array(1), offset: at },
          );
      }
      const expected = happening.reduce((count, { kind }) => count + (kind === 'end' ? 2 : 1), 1);
      expect(await read(place, 0)).toHaveLength(expected);
    }),
  );
});

test('nothing is told before a place that was given away before it', async () => {
  const place = createPlace({ outputBytes: 300, otherBytes: 300 });
  const held = place.ring.hold(2);
  // They push one another out, and so are read from the database.
  for (const id of ['a', 'b', 'c']) endCall(place, id);
  expect(await read(place, 0)).toEqual([BEGIN]);
  held.release();
  expect((await read(place, 0)).map(({ sequence }) => sequence)).toEqual([1, 4, 5, 6, 7, 8, 9]);
});

test('what another process told is read from the database, up to an attestation whose result was heard', async () => {
  const first = 1000;
  const place = createPlace({ outputBytes: 1e6, otherBytes: 1e6 }, first, first - 1);
  for (const told of [10, 20]) place.stored.push({ told, key: 'k', result: resultOf(`c${told}`, ''), at: 7 });
  endCall(place, 'new');
  expect((await read(place, 0)).map(({ sequence }) => sequence)).toEqual([1, 10, 11, 20, 21, 1000, 1001]);
  expect((await read(place, 10)).map(({ sequence }) => sequence)).toEqual([11, 20, 21, 1000, 1001]);
  expect((await read(place, 21)).map(({ sequence }) => sequence)).toEqual([1000, 1001]);
});

test('a reader that waits is woken by what comes, and by its signal', async () => {
  const place = createPlace({ outputBytes: 1e6, otherBytes: 1e6 });
  const gone = new AbortController();
  const events = readEvents(place.source, { after: 1, signal: gone.signal });
  const first = events.next();
  tell(place, { kind: 'started' });
  expect((await first).value?.sequence).toBe(2);
  const second = events.next();
  gone.abort();
  expect((await second).done).toBe(true);
});
