// T-31: a body beside the journal is exchanged for another, or taken away.
import { writeFile } from 'node:fs/promises';
import type { DatabaseSync } from 'node:sqlite';
import type { ReadQueries } from '@palyra/storage';
import { attestSampleCall, bodyDirectoryOf, createSampleCalls, SAMPLE_ACTOR } from '@palyra/testkit';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { nodeCrypto } from '../../packages/journal/src/node-crypto.ts';
import { listLogs } from '../../packages/journal/src/read-log.ts';
import type { JournalSchema } from '../../packages/journal/src/store/journal-schema.ts';
import { verifyExport } from '../../packages/journal/src/verify/verify-export.ts';
import { writeExport } from '../../packages/journal/src/write-export.ts';
import {
  attack,
  bodyFile,
  dataOf,
  findingOf,
  makeTemplate,
  recover,
  removeBodyFile,
  type Template,
} from './tampered-home.ts';

let template: Template;
beforeAll(async () => {
  template = await makeTemplate();
});
afterAll(() => template[Symbol.asyncDispose]());

async function afterwards(tamper: (database: DatabaseSync) => void): Promise<ReturnType<typeof findingOf>> {
  await using home = await attack(template);
  home.tamper(tamper);
  return findingOf(await home.verify());
}

describe('a body that is not the one committed to is found', () => {
  const INPUT = "(select json_extract(data, '$.input') from journal_entries where seq = 8)";
  const OTHER = "(select json_extract(data, '$.input') from journal_entries where seq = 3)";

  test.each([
    ['its bytes', `update journal_bodies set body = x'00', bytes = 1 where commitment = ${INPUT}`, 'body_swapped'],
    ['its salt', `update journal_bodies set salt = zeroblob(32) where commitment = ${INPUT}`, 'body_swapped'],
    [
      'a longer salt',
      `update journal_bodies set salt = cast(salt || x'00' as blob) where commitment = ${INPUT}`,
      'body_swapped',
    ],
    [
      'another body of the journal',
      `update journal_bodies set (salt, body, bytes) = (select salt, body, bytes from journal_bodies
         where commitment = ${OTHER}) where commitment = ${INPUT}`,
      'body_swapped',
    ],
    ['no row', `delete from journal_bodies where commitment = ${INPUT}`, 'body_missing'],
    ['an empty row', `update journal_bodies set body = null where commitment = ${INPUT}`, 'body_missing'],
    [
      'a row that says erased',
      `update journal_bodies set body = null, salt = null, place = 'erased' where commitment = ${INPUT}`,
      'body_missing',
    ],
    [
      'a row that says erased, by an entry about something else',
      `update journal_bodies set body = null, salt = null, place = 'erased', erased_by = 17 where commitment = ${INPUT}`,
      'body_missing',
    ],
    [
      'a row that says erased, by an entry that is still to come',
      `update journal_bodies set body = null, salt = null, place = 'erased', erased_by = 99, erased_in = 1
         where commitment = ${INPUT}`,
      'body_missing',
    ],
    [
      'a row that says erased, by a log that is not there',
      `update journal_bodies set body = null, salt = null, place = 'erased', erased_by = 3, erased_in = 2
         where commitment = ${INPUT}`,
      'body_missing',
    ],
    ['its length', `update journal_bodies set bytes = bytes + 1 where commitment = ${INPUT}`, 'body_swapped'],
    [
      'how long it was',
      `update journal_bodies set total_bytes = total_bytes + 1 where commitment = ${INPUT}`,
      'index_edited',
    ],
    ['a row that says file', `update journal_bodies set place = 'file' where commitment = ${INPUT}`, 'body_missing'],
  ])('in a row: %s', async (_what, sql, code) => {
    expect(await afterwards((db) => db.exec(sql))).toEqual({ code, seq: 8 });
  });

  test('in a file', async () => {
    await using home = await attack(template);
    const names: string[] = [];
    home.tamper((db) => names.push(String(dataOf(db, 11)['output'])));
    const [output = ''] = names;
    for (const content of ['commit!'.repeat(1000), 'short']) {
      await writeFile(bodyFile(home.place, output), content);
      expect(findingOf(await home.verify())).toEqual({ code: 'body_swapped', seq: 11 });
    }
    await removeBodyFile(home.place, output);
    expect(findingOf(await home.verify())).toEqual({ code: 'body_missing', seq: 11 });
  });

  test('but one that was erased on record is not missed', async () => {
    await using home = await attack(template);
    const names: string[] = [];
    home.tamper((db) => names.push(String(dataOf(db, 8)['input'])));
    await home.use(({ journal }) => journal.erase(SAMPLE_ACTOR, names.join(''), 'operator'));
    expect(await home.verify()).toMatchObject({ kind: 'sound', logs: [{ counts: { bodies: { erased: 1 } } }] });

    home.tamper((db) => db.exec('update journal_bodies set erased_by = 17 where erased_by is not null'));
    expect(findingOf(await home.verify())).toEqual({ code: 'body_missing', seq: 8 });
  });

  test('nor one that was erased after its log had ended, on the record of the next', async () => {
    await using home = await attack(template);
    const names: string[] = [];
    home.tamper((db) => names.push(String(dataOf(db, 8)['input']), String(dataOf(db, 11)['output'])));
    await recover(home);
    for (const name of names) await home.use(({ journal }) => journal.erase(SAMPLE_ACTOR, name, 'operator'));
    expect(await home.verify()).toMatchObject({
      kind: 'sound',
      logs: [{ counts: { bodies: { erased: 2 } }, remarks: [] }, { size: 5 }],
    });

    // An export of the old log cannot show what the new one says.
    await home.use(async ({ database }) => {
      const read = database.read as unknown as ReadQueries<JournalSchema>;
      const [log] = await listLogs(read);
      let text = '';
      const deps = { read, bodyDirectory: bodyDirectoryOf(home.place) };
      for await (const line of writeExport(deps, { ...(log === undefined ? {} : { log }), bodies: true })) text += line;
      const report = await verifyExport(text, { crypto: nodeCrypto, pins: { witnesses: [], checkpoints: [] } });
      expect(report).toMatchObject({ kind: 'sound', size: 18, counts: { bodies: { erased: 0, leftOut: 2 } } });
    });

    for (const claim of ['erased_by = 2', 'erased_by = 4', 'erased_in = 1', 'erased_by = null']) {
      home.tamper((db) => db.exec(`update journal_bodies set ${claim} where erased_by = 3`));
      expect(findingOf(await home.verify())).toEqual({ code: 'body_missing', seq: 8 });
      home.tamper((db) =>
        db.prepare('update journal_bodies set erased_by = 3, erased_in = 2 where commitment = ?').run(names[0] ?? ''),
      );
    }
    // A body of the new log, that only the old one could have erased.
    await home.use(async ({ journal }) => {
      await attestSampleCall(journal, createSampleCalls(), { input: 'git diff' });
    });
    home.tamper((db) =>
      db.exec(`update journal_bodies set salt = null, body = null, place = 'erased', erased_by = 3, erased_in = 1
        where log = 2 and seq = 5`),
    );
    expect(findingOf(await home.verify())).toEqual({ code: 'body_missing', seq: 5 });
  });

  test('and so is another policy snapshot', async () => {
    const found = await afterwards((db) =>
      db.exec('update journal_snapshots set text = replace(text, \'"C"\', \'"B"\')'),
    );
    expect(found).toEqual({ code: 'snapshot_wrong', seq: 4 });
  });
});
