import { randomInt } from 'node:crypto';
import type { Journal } from '@palyra/journal';
import { describe, expect } from 'vitest';
import type { MakeJournalPlace } from './describe-journal-contract.ts';
import { startJournalProcess } from './journal-process.ts';
import { journalTest } from './journal-test.ts';
import { createSampleCalls, SAMPLE_ACTOR } from './sample-calls.ts';

const calls = createSampleCalls();

export function describeTail(makePlace: MakeJournalPlace): void {
  const test = journalTest(makePlace);

  describe('the live tail', () => {
    test('a client that is cut off again and again hears everything once and in order', async ({ home, place }) => {
      const child = startJournalProcess({ place, writers: 4, count: 40 });
      const heard: number[] = [];
      const ended = new AbortController();
      const ending = child.end().finally(() => ended.abort());
      const listenOn = (count: number, signal?: AbortSignal) =>
        listen(home.journal, { after: heard.at(-1) ?? -1, count, signal });
      // Each connection ends after a few entries, and the next begins after the last that was heard.
      while (!ended.signal.aborted) heard.push(...(await listenOn(randomInt(1, 40), ended.signal)));
      expect(await ending).toBe(0);
      const size = Number((await home.journal.checkpoint()).split('\n')[1]);
      heard.push(...(await listenOn(size - heard.length)));
      expect(heard).toEqual(Array.from({ length: size }, (_, seq) => seq));
    });

    test('entries are told while nobody writes, and those to come when somebody does', async ({
      home: { journal },
    }) => {
      const stop = new AbortController();
      const tail = journal.tail({ after: 1, signal: stop.signal });
      expect((await tail.next()).value).toMatchObject({ seq: 2 });
      const coming = tail.next();
      await journal.append(SAMPLE_ACTOR, [calls.runEnded(1)]);
      expect((await coming).value).toMatchObject({ seq: 3, kind: 'run.ended' });
      const never = tail.next();
      stop.abort();
      expect(await never).toEqual({ done: true, value: undefined });
    });

    test('a tail with a filter tells only what was asked for', async ({ home: { journal } }) => {
      const stop = new AbortController();
      const tail = journal.tail({ after: -1, signal: stop.signal, kinds: ['run.ended'] });
      const first = tail.next();
      await journal.rotateKey(SAMPLE_ACTOR, 'attestation');
      await journal.append(SAMPLE_ACTOR, [calls.runEnded(7)]);
      expect((await first).value).toMatchObject({ kind: 'run.ended', data: { calls: 7 } });
      stop.abort();
      await tail.return();
    });

    test('a tail whose signal was given before ends at once', async ({ home: { journal } }) => {
      const tail = journal.tail({ after: -1, signal: AbortSignal.abort() });
      expect(await tail.next()).toEqual({ done: true, value: undefined });
    });
  });
}

interface Listening {
  readonly after: number;
  readonly count: number;
  /** Ends it earlier. */
  readonly signal: AbortSignal | undefined;
}

async function listen(journal: Journal, { after, count, signal }: Listening): Promise<readonly number[]> {
  const heard: number[] = [];
  if (count === 0) return heard;
  const enough = new AbortController();
  const until = signal === undefined ? enough.signal : AbortSignal.any([enough.signal, signal]);
  for await (const { seq } of journal.tail({ after, signal: until })) {
    heard.push(seq);
    if (heard.length === count) enough.abort();
  }
  return heard;
}
