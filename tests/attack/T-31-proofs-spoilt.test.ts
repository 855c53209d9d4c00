// T-31: what a home keeps of its tree is edited: no proof it makes holds any more, and to a witness it looks like a fork.
import { join } from 'node:path';
import { archiveSegments, pruneSegments, type SegmentDeps, sealSegment } from '@palyra/journal';
import { systemClock } from '@palyra/primitives';
import { bodyDirectoryOf, createSampleCalls, SAMPLE_ACTOR } from '@palyra/testkit';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type AttackedHome, attack, findingOf, makeTemplate, type Template } from './tampered-home.ts';

let template: Template;
beforeAll(async () => {
  template = await makeTemplate();
});
afterAll(() => template[Symbol.asyncDispose]());

/** Two subtrees of 256 entries are kept then. */
async function grow(home: AttackedHome): Promise<void> {
  const calls = createSampleCalls();
  await home.use(async ({ journal }) => {
    for (let at = 0; at < 10; at += 1) {
      const drafts = Array.from({ length: 55 }, () => calls.runEnded(at));
      await journal.append(SAMPLE_ACTOR, drafts);
    }
  });
}

async function prune(home: AttackedHome): Promise<void> {
  const directory = join(home.place.directory, 'archive');
  await home.use(async ({ journal, database }) => {
    const bodyDirectory = bodyDirectoryOf(home.place);
    const deps: SegmentDeps = { database, append: journal.appendOwn, bodyDirectory, clock: systemClock };
    await sealSegment(deps, { entries: 1, ageMs: 0 });
    await archiveSegments(deps, directory);
    expect(await pruneSegments(deps, { directory, olderThanMs: 0 })).toMatchObject({ kind: 'pruned' });
  });
}

const EDITS = [
  'update journal_nodes set hash = zeroblob(32) where place = 0',
  'update journal_nodes set hash = (select hash from journal_nodes where place = 0) where place = 1',
  'delete from journal_nodes where place = 1',
];

test.each(EDITS)('%s', async (edit) => {
  await using home = await attack(template);
  await grow(home);
  expect(findingOf(await home.verify())).toBe('sound');
  home.tamper((db) => db.exec(edit));
  expect(findingOf(await home.verify())).toEqual({ code: 'head_edited', seq: undefined });
});

test.each(EDITS)('of entries that were pruned: %s', async (edit) => {
  await using home = await attack(template);
  await grow(home);
  await prune(home);
  expect(findingOf(await home.verify())).toBe('sound');
  home.tamper((db) => db.exec(edit));
  expect(findingOf(await home.verify())).toEqual({ code: 'head_edited', seq: undefined });
});

test('an edited entry is named all the same', async () => {
  await using home = await attack(template);
  await grow(home);
  home.tamper((db) => db.exec(`${EDITS[0]}; update journal_entries set at = at + 1 where seq = 400`));
  expect(findingOf(await home.verify())).toEqual({ code: 'entry_edited', seq: 400 });
});
