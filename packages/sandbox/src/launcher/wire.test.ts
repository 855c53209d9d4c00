import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  createFrameReader,
  decodeItems,
  ENDED_ITEM,
  encodeFrame,
  encodeItems,
  FACTS_ITEM,
  FRAME_HEADER,
  FROM_LAUNCHER,
  GATE_CHANNEL,
  MAX_CHUNK,
  MAX_LABEL,
  namedTextsIn,
  PROXY_PORT,
  REASONS,
  START_ITEM,
  STDIN_WINDOW,
  TO_LAUNCHER,
  WIRE_VERSION,
} from './wire.ts';

const header = (name: string) => readFileSync(new URL(`../../native/${name}`, import.meta.url), 'utf8');
const wireHeader = header('wire.h');

/** The numbers of one enumeration, by the name without its first word. */
function enumeration(name: string): ReadonlyMap<string, number> {
  const body = new RegExp(`enum ${name} \\{(.*?)\\};`, 's').exec(wireHeader)?.[1] ?? '';
  return new Map([...body.matchAll(/[A-Z]+_([A-Z_]+) = (\d+)/g)].map(([, key = '', value]) => [key, Number(value)]));
}

/** A product of whole numbers, as C writes one. */
function definition(text: string, name: string): number {
  const value = new RegExp(`#define ${name} (.*)`).exec(text)?.[1] ?? '';
  return (value.match(/\d+/g) ?? ['NaN']).reduce((product, factor) => product * Number(factor), 1);
}

/** `toolArgument` is TOOL_ARG there: the order and the numbers count, not how a word is shortened. */
function numbers(table: Readonly<Record<string, number>>): readonly number[] {
  return Object.values(table);
}

test.each([
  ['to_launcher', TO_LAUNCHER],
  ['from_launcher', FROM_LAUNCHER],
  ['start_item', START_ITEM],
  ['facts_item', FACTS_ITEM],
  ['ended_item', ENDED_ITEM],
] as const)('%s has the numbers that the launcher has', (name, table) => {
  const theirs = enumeration(name);
  expect(theirs.size).toBeGreaterThan(0);
  expect(numbers(table)).toEqual([...theirs.values()]);
  // Each word begins as the other one does.
  expect(Object.keys(table).map(firstLetter)).toEqual([...theirs.keys()].map(firstLetter));
});

function firstLetter(word: string): string {
  return word.charAt(0).toLowerCase();
}

test('reasons and sizes are those that the launcher has', () => {
  expect([...enumeration('reason')].map(([name, at]) => [name.toLowerCase(), at])).toEqual(
    REASONS.map((name, at) => [name, at]),
  );
  expect({ WIRE_VERSION, FRAME_HEADER, MAX_CHUNK, STDIN_WINDOW, PROXY_PORT, GATE_CHANNEL, MAX_LABEL }).toEqual({
    PROXY_PORT: definition(wireHeader, 'PROXY_PORT'),
    GATE_CHANNEL: definition(wireHeader, 'GATE_CHANNEL'),
    MAX_LABEL: definition(wireHeader, 'MAX_LABEL'),
    WIRE_VERSION: definition(wireHeader, 'WIRE_VERSION'),
    FRAME_HEADER: definition(wireHeader, 'FRAME_HEADER'),
    MAX_CHUNK: definition(wireHeader, 'MAX_CHUNK'),
    STDIN_WINDOW: definition(header('job.h'), 'STDIN_WINDOW'),
  });
});

const bytes = fc.uint8Array({ maxLength: 300 }).map((array) => Buffer.from(array));
const items = fc.array(fc.record({ tag: fc.integer({ min: 0, max: 0xffff }), bytes }), { maxLength: 20 });
const frames = fc.array(
  fc.record({ kind: fc.integer({ min: 0, max: 255 }), job: fc.integer({ min: 0, max: 0xffff_ffff }), payload: bytes }),
  { maxLength: 20 },
);

test('items come back as they were', () => {
  fc.assert(
    fc.property(items, (list) => {
      expect(decodeItems(encodeItems(list))).toEqual(list);
    }),
  );
});

test('texts are sent as UTF-8, and large items between small ones come back too', () => {
  const large = Buffer.alloc(100_000, 0xfe);
  const sent = ['abc', 'žluťoučký \u{1f40e}', large, '', large, 'ÿ'].map((content, tag) => ({ tag, bytes: content }));
  const expected = sent.map(({ tag, bytes: content }) => ({ tag, bytes: Buffer.from(content) }));
  expect(decodeItems(encodeItems(sent))).toEqual(expected);
});

test('a list of items that is cut anywhere but between two of them is none', () => {
  fc.assert(
    fc.property(items, fc.nat(), (list, seed) => {
      const whole = encodeItems(list);
      const cut = seed % (whole.length + 1);
      const decoded = decodeItems(whole.subarray(0, cut));
      if (decoded === undefined) return;
      expect(encodeItems(decoded)).toEqual(whole.subarray(0, cut));
      expect(list.slice(0, decoded.length)).toEqual(decoded);
    }),
  );
  expect(decodeItems(encodeItems([{ tag: 1, bytes: Buffer.from('abc') }]).subarray(0, 8))).toBeUndefined();
  expect(decodeItems(Buffer.alloc(5))).toBeUndefined();
});

test('any bytes decode to items or to nothing, and never throw', () => {
  fc.assert(
    fc.property(bytes, (input) => {
      const decoded = decodeItems(input);
      expect(decoded === undefined ? input : encodeItems(decoded)).toEqual(input);
    }),
  );
});

test('frames come back whole, however the stream is cut', () => {
  fc.assert(
    fc.property(frames, fc.array(fc.integer({ min: 1, max: 50 }), { minLength: 1 }), (list, sizes) => {
      const stream = Buffer.concat(list.map(({ kind, job, payload }) => encodeFrame(kind, job, payload)));
      const read = createFrameReader();
      const found: ReturnType<typeof read>[number][] = [];
      for (let at = 0, turn = 0; at < stream.length; turn += 1) {
        const size = sizes[turn % sizes.length] ?? 1;
        found.push(...read(stream.subarray(at, at + size)));
        at += size;
      }
      expect(found).toEqual(list);
    }),
  );
});

test('a frame begins with its length, kind and job', () => {
  expect(encodeFrame(TO_LAUNCHER.credit, 0x01020304, Buffer.from([9]))).toEqual(
    Buffer.from([1, 0, 0, 0, 6, 4, 3, 2, 1, 9]),
  );
  expect(encodeFrame(TO_LAUNCHER.go, 1).length).toBe(FRAME_HEADER);
});

test('a name ends at the first NUL, and the text may hold others', () => {
  const named = (text: string) => {
    const around = Buffer.from(`\u{1f40e}\0${text}\0more`);
    return namedTextsIn(around)(5, around.length - 5);
  };
  expect(named('name\0text\0more')).toEqual({ name: 'name', text: 'text\0more' });
  expect(named('\0')).toEqual({ name: '', text: '' });
  expect(named('name')).toBeUndefined();
  expect(named('')).toBeUndefined();
  expect(named('náme\0téxt \u{1f40e}')).toEqual({ name: 'náme', text: 'téxt \u{1f40e}' });
});
