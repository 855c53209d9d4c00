// T-31: a forged signature far behind in a log that has so many of them that they are checked in batches, on threads.
import type { DatabaseSync } from 'node:sqlite';
import { createSampleCalls, openJournalHome, SAMPLE_ACTOR, SAMPLE_SNAPSHOT } from '@palyra/testkit';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { attack, findingOf, makeTemplate, type Template } from './tampered-home.ts';

/** Each append is waited for, and so has a checkpoint of its own; those of the template end at size 18. */
const APPENDS = 500;
const SIZE = 18 + APPENDS;

let template: Template;
beforeAll(async () => {
  template = await makeTemplate();
  const path = `${template.directory}/palyra.db`;
  await using home = await openJournalHome({ directory: template.directory, location: { kind: 'sqlite', path } });
  const snapshot = await home.journal.putSnapshot(SAMPLE_SNAPSHOT);
  const calls = createSampleCalls();
  for (let left = APPENDS; left > 0; left -= 1) await home.journal.append(SAMPLE_ACTOR, [calls.decision(snapshot)]);
});
afterAll(() => template[Symbol.asyncDispose]());

/** Its own text, under what was signed for the one before it. */
function forge(database: DatabaseSync, size: number): void {
  database.exec(`update journal_checkpoints set note = substr(note, 1, instr(note, char(10) || char(10)) + 1) ||
    (select substr(note, instr(note, char(10) || char(10)) + 2) from journal_checkpoints where size = ${size - 1})
    where size = ${size}`);
}

test('nobody touched it: sound', async () => {
  await using home = await attack(template);
  expect(await home.verify()).toMatchObject({
    kind: 'sound',
    logs: [{ size: SIZE, counts: { checkpoints: 8 + APPENDS } }],
  });
});

test.for([[400], [SIZE], [300, 301], [330, 450, SIZE]])(
  'forged at the sizes %o: the first of them is named',
  async (sizes) => {
    await using home = await attack(template);
    // The last one first, so that no signature is taken from one that was forged before.
    home.tamper((database) => {
      for (const size of sizes.toReversed()) forge(database, size);
    });
    expect(findingOf(await home.verify())).toEqual({ code: 'checkpoint_unsigned', seq: (sizes[0] ?? 0) - 1 });
  },
);
