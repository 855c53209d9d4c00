// T-31: what the tables say beside the chain is edited, so that Palyra itself hides, cuts or throws away what the log holds.
import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { truncate } from 'node:fs/promises';
import { join } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { archiveSegments, pruneSegments, sealSegment } from '@palyra/journal';
import { systemClock } from '@palyra/primitives';
import { bodyDirectoryOf, type JournalHome } from '@palyra/testkit';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  type AttackedHome,
  attack,
  bodyFile,
  findingOf,
  makeTemplate,
  recover,
  type Template,
} from './tampered-home.ts';

let template: Template;
beforeAll(async () => {
  template = await makeTemplate();
});
afterAll(() => template[Symbol.asyncDispose]());

async function afterwards(edit: string): Promise<ReturnType<typeof findingOf>> {
  await using home = await attack(template);
  home.tamper((db) => db.exec(edit));
  return findingOf(await home.verify());
}

describe('what is kept of the log as a whole', () => {
  test.each(['sealed = sealed + 1', 'sealed = sealed - 1', 'sealed = 0', 'pruned = 1', 'pruned = -1', 'pruned = 99'])(
    'is found to be edited: %s',
    async (edit) => {
      expect(await afterwards(`update journal_logs set ${edit}`)).toEqual({ code: 'head_edited', seq: undefined });
    },
  );

  test.each(['number', 'size', 'sealed', 'pruned'])(
    'is damage and no lack of a journal, when %s is what no number can be',
    async (column) => {
      await using home = await attack(template);
      home.tamper((db) => db.exec(`update journal_logs set ${column} = 1 << 60`));
      await expect(home.verify()).rejects.toMatchObject({ code: 'storage.corrupt' });
    },
  );
});

describe('by what an entry is looked for', () => {
  test.each(['run_id', 'session_id', 'call_id', 'principal', 'tool'])(
    'ends where it seems to end: %s with more behind a NUL',
    async (column) => {
      const edit = `update journal_entries set ${column} = ${column} || char(0) || 'x' where seq = 5`;
      expect(await afterwards(edit)).toEqual({ code: 'index_edited', seq: 5 });
    },
  );

  test('is of the type it seems to be', async () => {
    await using home = await attack(template);
    home.tamper((db) => {
      db.enableDefensive(false);
      db.exec('pragma writable_schema = on');
      const strict = "update sqlite_schema set sql = replace(sql, ') strict', ')') where name = 'journal_entries'";
      const words = String(db.prepare("select sql from sqlite_schema where name = 'journal_entries'").get()?.['sql']);
      db.exec(strict);
      db.exec('pragma schema_version = 1000');
      db.exec('update journal_entries set call_id = cast(call_id as blob) where seq = 5');
      db.prepare("update sqlite_schema set sql = ? where name = 'journal_entries'").run(words);
      db.exec('pragma schema_version = 1001');
    });
    expect(findingOf(await home.verify())).toEqual({ code: 'index_edited', seq: 5 });
  });
});

const INPUT = "(select json_extract(data, '$.input') from journal_entries where seq = 8)";

describe('where a body is kept', () => {
  test.each([
    ['in no place that there is', "place = 'rows'", 'body_missing'],
    ['in no place', "place = ''", 'body_missing'],
    ['with an entry before its own, with which it would be pruned', 'seq = 0', 'index_edited'],
    ['with an entry after its own, with which it would stay', 'seq = 17', 'index_edited'],
    ['with a log that is not there', 'log = 9', 'index_edited'],
    ['as one that was cut to more than is there', 'total_bytes = 1', 'index_edited'],
  ])('is found to be edited: %s', async (_what, edit, code) => {
    expect(await afterwards(`update journal_bodies set ${edit} where commitment = ${INPUT}`)).toEqual({ code, seq: 8 });
  });

  test('is no file of more bytes than any body has, which nobody reads to its end', async () => {
    await using home = await attack(template);
    const output = "(select json_extract(data, '$.output') from journal_entries where seq = 11)";
    const bytes = 1 << 30;
    const named: string[] = [];
    home.tamper((db) => {
      named.push(String(db.prepare(`select ${output} as output`).get()?.['output']));
      db.exec(`update journal_bodies set bytes = ${bytes}, total_bytes = ${bytes} where commitment = ${output}`);
    });
    // All holes: it takes no room on the disk.
    await truncate(bodyFile(home.place, named[0] ?? ''), bytes);
    const before = process.memoryUsage().external;
    let most = 0;
    const watch = setInterval(() => {
      most = Math.max(most, process.memoryUsage().external - before);
    }, 5);
    expect(findingOf(await home.verify())).toEqual({ code: 'body_swapped', seq: 11 });
    clearInterval(watch);
    expect(most).toBeLessThan(256 * 1024 * 1024);
  });
});

test('a body is not erased by the pruned past of a log that was never pruned', async () => {
  await using home = await attack(template);
  await recover(home);
  home.tamper((db) => {
    db.exec(`update journal_bodies set salt = null, body = null, place = 'erased', erased_by = 2, erased_in = 2
      where commitment = ${INPUT}`);
    db.exec('update journal_logs set pruned = 3 where number = 2');
  });
  expect(await home.verify()).toMatchObject({ kind: 'broken', finding: { code: 'head_edited' } });
});

const archiveOf = (home: AttackedHome) => join(home.place.directory, 'archive');

async function sealAndArchive(home: AttackedHome): Promise<void> {
  await home.use(async (opened) => {
    await sealSegment(segmentDeps(home, opened), { entries: 1, ageMs: 0 });
    await archiveSegments(segmentDeps(home, opened), archiveOf(home));
  });
}

async function prune(home: AttackedHome): Promise<void> {
  await home.use(async (opened) => {
    const options = { directory: archiveOf(home), olderThanMs: -60_000 };
    await pruneSegments(segmentDeps(home, opened), options);
  });
}

function segmentDeps(home: AttackedHome, { journal, database }: JournalHome) {
  const bodyDirectory = bodyDirectoryOf(home.place);
  return { database, append: journal.appendOwn, bodyDirectory, clock: systemClock };
}

describe('what is kept of segments', () => {
  test.each([
    ['another file in its place', forgeArchive],
    ['more entries than it has', widenSegment],
  ])('does not have Palyra throw entries away for %s', async (_what, forge) => {
    await using home = await attack(template);
    await sealAndArchive(home);
    home.tamper((db) => forge(db, home));
    await expect(prune(home)).rejects.toMatchObject({ code: 'journal.cannot_prune' });
    home.tamper((db) => expect(db.prepare('select pruned from journal_logs').get()).toEqual({ pruned: 0 }));
  });

  test('is what the log says after pruning too', async () => {
    await using home = await attack(template);
    await sealAndArchive(home);
    await prune(home);
    expect(findingOf(await home.verify())).toBe('sound');
    home.tamper((db) => expect(db.prepare('select pruned from journal_logs').get()).toEqual({ pruned: 18 }));
    home.tamper((db) => db.exec('update journal_tiles set tile = 1'));
    expect(findingOf(await home.verify())).toMatchObject({ code: 'entry_missing', seq: 0 });
  });
});

/** An archive that is none, and the digest that it has. */
function forgeArchive(db: DatabaseSync, home: AttackedHome): void {
  const { first, next } = db.prepare('select first, next from journal_segments').get() as Record<string, number>;
  const origin = String(db.prepare('select origin from journal_logs').get()?.['origin']).replace('palyra/', '');
  writeFileSync(join(archiveOf(home), `${origin}-${first}-${next}.ndjson`), 'nothing');
  db.prepare('update journal_segments set archive = ?').run(createHash('sha256').update('nothing').digest('hex'));
}

/** Sealed and archived up to the newest checkpoint, as far as the table says. */
function widenSegment(db: DatabaseSync, home: AttackedHome): void {
  db.exec('update journal_segments set next = (select sealed from journal_logs)');
  forgeArchive(db, home);
}
