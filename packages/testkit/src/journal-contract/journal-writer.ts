import { acknowledge } from '../acknowledge.ts';
import { type JournalPlace, openJournalHome } from './journal-home.ts';
import { createSampleCalls, SAMPLE_ACTOR, SAMPLE_SNAPSHOT } from './sample-calls.ts';

/**
 * A process of its own that appends to a journal: `journal-writer.ts PLACE WRITERS COUNT`. It prints the number and hash
 * of each entry once the journal has acknowledged it, and not before.
 */
const [place = '', writers = '1', count = '1'] = process.argv.slice(2);

/** So small that bodies of both sorts are cheap to make. */
const INLINE_BYTES = 256;

await using home = await openJournalHome(JSON.parse(place) as JournalPlace, { inlineBytes: INLINE_BYTES });
const { journal } = home;
const snapshot = await journal.putSnapshot(SAMPLE_SNAPSHOT);
const calls = createSampleCalls();
await Promise.all(Array.from({ length: Number(writers) }, (_, writer) => appendAll(writer)));

async function appendAll(writer: number): Promise<void> {
  for (let i = 0; i < Number(count); i += 1) {
    const outcome = await journal.append(SAMPLE_ACTOR, await drafts(writer + i));
    if (outcome.kind === 'conflict') throw new Error('An append without other steps met a conflict.');
    acknowledge(outcome.entries.map(({ seq, hash }) => `${seq} ${hash}\n`).join(''));
  }
}

/** A decision, with a body in every third, and one in every ninth that is too large for a row. */
async function drafts(turn: number) {
  const of = calls.call();
  const decision = calls.decision(snapshot, of);
  if (turn % 3 !== 0) return [decision];
  const input = await journal.bodies.prepare('what was asked '.repeat(turn % 9 === 0 ? 40 : 4));
  return [{ kind: 'proposal', data: { ...of, input } } as const, decision];
}
