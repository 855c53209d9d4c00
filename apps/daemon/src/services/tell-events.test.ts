import { fromBinary } from '@bufbuild/protobuf';
import { createContextValues } from '@connectrpc/connect';
import { RunStreamResponseSchema } from '@palyra/api';
import { expect, test } from 'vitest';
import { createBell } from '../runs/bell.ts';
import { createEventRing } from '../runs/event-ring.ts';
import { readEvents } from '../runs/read-events.ts';
import { MESSAGE_BODY } from '../wire/message-body.ts';
import { tellEvents } from './tell-events.ts';

const BEGIN = {
  sequence: 1,
  time: 0,
  happened: { kind: 'run_started', runId: 'run', session: 'session', workspace: { id: 'work', root: '/work' } },
} as const;

/** A run that is told to somebody who reads by hand. */
function createTold({ isBinary = true, bytes = 10 } = {}) {
  const bell = createBell();
  const ring = createEventRing({ begin: BEGIN, first: 2, storedUpTo: 0, changed: () => bell.ring() });
  const source = { ring, bell, isOver: false, told: async () => [] };
  const took: number[] = [];
  const left: string[] = [];
  const progress = { took: (cursor: number) => void took.push(cursor), leave: () => void left.push('left') };
  const gone = new AbortController();
  const events = readEvents(source, { after: 0, signal: gone.signal, progress });
  const pieces: bigint[][] = [];
  let heard = Promise.withResolvers<void>();
  let room = Promise.resolve();
  const body = {
    write(messages: readonly Uint8Array[]) {
      pieces.push(messages.map((each) => fromBinary(RunStreamResponseSchema, each).event?.sequence ?? 0n));
      heard.resolve();
      heard = Promise.withResolvers();
      return room;
    },
  };
  const values = createContextValues();
  if (isBinary) values.set(MESSAGE_BODY, body);
  return {
    told: tellEvents(events, { schema: RunStreamResponseSchema, context: { values }, room: 1024 }),
    pieces,
    took,
    left,
    gone,
    piece: () => heard.promise,
    happens(count: number) {
      const output = { kind: 'output', stream: 'stdout', bytes: new Uint8Array(bytes), offset: 0 } as const;
      for (let at = 0; at < count; at += 1) ring.push({ time: 0, happened: output }, 'passing');
    },
    /** Until the promise resolves nothing more is taken. */
    hasRoom(when: Promise<void>) {
      room = when;
    },
    end() {
      source.isOver = true;
      bell.ring();
    },
  };
}

test('the first event is the library’s to answer with; what happens in one turn after it goes in one piece', async () => {
  const { told, happens, piece, pieces, end, left } = createTold();
  expect(await told.next()).toMatchObject({ done: false, value: { event: { sequence: 1n } } });
  const over = told.next();
  happens(1);
  queueMicrotask(() => happens(2));
  await piece();
  happens(1);
  await piece();
  end();
  expect(await over).toEqual({ done: true, value: undefined });
  expect(pieces).toEqual([[2n, 3n, 4n], [5n]]);
  expect(left).toEqual(['left']);
});

test('where messages are no plain bytes, each is given to the library', async () => {
  const { told, happens, pieces } = createTold({ isBinary: false });
  happens(2);
  const sequences = [await told.next(), await told.next(), await told.next()].map(({ value }) => value?.event.sequence);
  expect(sequences).toEqual([1n, 2n, 3n]);
  expect(pieces).toEqual([]);
  await told.return?.();
});

test('a reader that does not read is told no more, and has not taken what waits for it', async () => {
  const { told, happens, piece, pieces, took, hasRoom, end } = createTold({ bytes: 6 * 1024 });
  const room = Promise.withResolvers<void>();
  hasRoom(room.promise);
  await told.next();
  const over = told.next();
  happens(20);
  await piece();
  await new Promise((resolve) => setImmediate(resolve));
  expect(pieces).toEqual([[2n, 3n, 4n]]);
  expect(took).toEqual([1]);
  hasRoom(Promise.resolve());
  room.resolve();
  end();
  await over;
  expect(pieces.flat()).toEqual(Array.from({ length: 20 }, (_, at) => BigInt(at + 2)));
  expect(took.at(-1)).toBe(21);
});

test('one that is gone ends it', async () => {
  const { told, gone, left } = createTold();
  await told.next();
  const over = told.next();
  gone.abort();
  expect(await over).toEqual({ done: true, value: undefined });
  expect(left).toEqual(['left']);
});
