// T-31: a body beside the journal is exchanged for another, or taken away.
import { writeFile } from 'node:fs/promises';
import type { DatabaseSync } from 'node:sqlite';
import { SAMPLE_ACTOR } from '@palyra/testkit';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { attack, bodyFile, dataOf, findingOf, makeTemplate, removeBodyFile, type Template } from './tampered-home.ts';

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

  test('and so is another policy snapshot', async () => {
    const found = await afterwards((db) =>
      db.exec('update journal_snapshots set text = replace(text, \'"C"\', \'"B"\')'),
    );
    expect(found).toEqual({ code: 'snapshot_wrong', seq: 4 });
  });
});
