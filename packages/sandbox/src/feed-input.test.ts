import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createInput } from './feed-input.ts';
import type { Job } from './launcher/start-launcher.ts';
import { STDIN_WINDOW } from './launcher/wire.ts';

interface Heard {
  readonly job: Job;
  /** What the tool could read, in order. */
  bytes(): Buffer;
  /** Everything else that was said, in order. */
  readonly said: string[];
  readonly sizes: number[];
}

function hearing(onWrite: (bytes: Uint8Array) => void = () => undefined): Heard {
  const pieces: Uint8Array[] = [];
  const said: string[] = [];
  const sizes: number[] = [];
  const job: Job = {
    number: 1,
    go: () => said.push('go'),
    kill: () => said.push('kill'),
    allow: () => said.push('allow'),
    write(bytes) {
      pieces.push(Uint8Array.from(bytes));
      sizes.push(bytes.length);
      onWrite(bytes);
    },
    endInput: () => said.push('end'),
    resize: () => said.push('resize'),
    signal: () => said.push('signal'),
  };
  return { job, said, sizes, bytes: () => Buffer.concat(pieces) };
}

/** Until nothing more happens by itself: every microtask that is due has run before the next turn. */
function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

const text = (...words: string[]) => words.map((word) => Buffer.from(word));

test.each([
  ['a list', () => text('one ', 'two')],
  [
    'a generator',
    function* () {
      yield* text('one ', '', 'two');
    },
  ],
  [
    'a source that takes its time',
    async function* () {
      yield Buffer.from('one ');
      await turn();
      yield Buffer.from('two');
    },
  ],
])('all of %s is sent, and then the end', async (_, source) => {
  const heard = hearing();
  await createInput(source()).feed(heard.job);
  expect([heard.bytes().toString(), heard.said]).toEqual(['one two', ['end']]);
});

test('without a source there is only the end', async () => {
  const heard = hearing();
  await createInput().feed(heard.job);
  expect([heard.sizes, heard.said]).toEqual([[], ['end']]);
});

test('no more is sent than there is room for, until some of it was taken', async () => {
  const all = Buffer.alloc(STDIN_WINDOW + 10, 'x');
  const heard = hearing();
  const input = createInput([all]);
  const fed = input.feed(heard.job);
  await turn();
  expect([heard.bytes().length, heard.said]).toEqual([STDIN_WINDOW, []]);
  input.taken(4);
  await turn();
  expect([heard.bytes().length, heard.said]).toEqual([STDIN_WINDOW + 4, []]);
  input.taken(100);
  await fed;
  expect([heard.bytes().equals(all), heard.said]).toEqual([true, ['end']]);
});

test('a source is not asked for more while there is no room', async () => {
  let asked = 0;
  function* source() {
    for (;;) {
      asked += 1;
      yield Buffer.alloc(STDIN_WINDOW);
    }
  }
  const input = createInput(source());
  const fed = input.feed(hearing().job);
  await turn();
  // The second piece is in hand, and waits.
  expect(asked).toBe(2);
  input.stop();
  await fed;
  expect(asked).toBe(2);
});

test('property: whatever the pieces and however it is taken, it arrives whole, in order and within the window', async () => {
  const pieces = fc.array(fc.oneof(fc.nat(100), fc.nat(2 * STDIN_WINDOW)), { maxLength: 6 });
  await fc.assert(
    fc.asyncProperty(pieces, fc.integer({ min: 1, max: STDIN_WINDOW }), async (lengths, gulp) => {
      const source = lengths.map((length, at) => Buffer.alloc(length, at + 1));
      let onItsWay = 0;
      const heard = hearing((bytes) => {
        onItsWay += bytes.length;
        expect(onItsWay).toBeLessThanOrEqual(STDIN_WINDOW);
      });
      const input = createInput(source);
      let isFed = false;
      const fed = input.feed(heard.job).then(() => (isFed = true));
      // At least an eighth of the window at a time, or this would take all day.
      const most = Math.max(gulp, STDIN_WINDOW / 8);
      for (await turn(); !isFed; await turn()) {
        const bytes = Math.min(most, onItsWay);
        onItsWay -= bytes;
        input.taken(bytes);
      }
      await fed;
      expect(heard.bytes().equals(Buffer.concat(source))).toBe(true);
      expect(heard.said).toEqual(['end']);
      expect(heard.sizes.every((size) => size > 0 && size <= STDIN_WINDOW / 4)).toBe(true);
    }),
    { numRuns: 40 },
  );
});

test('a source that fails ends the command: a part is not to be taken for the whole', async () => {
  const heard = hearing();
  async function* source() {
    yield Buffer.from('rm -rf ./a');
    await turn();
    throw new Error('The connection was lost.');
  }
  await createInput(source()).feed(heard.job);
  expect([heard.bytes().toString(), heard.said]).toEqual(['rm -rf ./a', ['kill']]);
});

test('a command that has ended is sent nothing more, and its input never ends', async () => {
  const heard = hearing();
  const input = createInput([Buffer.alloc(STDIN_WINDOW + 1), Buffer.from('later')]);
  const fed = input.feed(heard.job);
  await turn();
  input.stop();
  await fed;
  input.taken(STDIN_WINDOW);
  await turn();
  expect([heard.bytes().length, heard.said]).toEqual([STDIN_WINDOW, []]);
});

test('stopped while the source is thinking, what it says then is not sent, and it is told to stop', async () => {
  const heard = hearing();
  const thinking = Promise.withResolvers<void>();
  let isClosed = false;
  async function* source() {
    try {
      yield Buffer.from('first');
      await thinking.promise;
      yield Buffer.from('second');
      yield Buffer.from('third');
    } finally {
      isClosed = true;
    }
  }
  const input = createInput(source());
  const fed = input.feed(heard.job);
  await turn();
  input.stop();
  thinking.resolve();
  await fed;
  expect([heard.bytes().toString(), heard.said, isClosed]).toEqual(['first', [], true]);
});
