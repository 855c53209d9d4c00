/**
 * T-54: a body that was erased is put back from an older copy of its row, or its salt is, with which it can be guessed: the
 * log would go on saying that it is gone.
 */
import type { DatabaseSync, SQLInputValue } from 'node:sqlite';
import { SAMPLE_ACTOR } from '@palyra/testkit';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type AttackedHome, attack, dataOf, findingOf, makeTemplate, recover, type Template } from './tampered-home.ts';

let template: Template;
beforeAll(async () => {
  template = await makeTemplate();
});
afterAll(() => template[Symbol.asyncDispose]());

type Row = Readonly<Record<string, SQLInputValue>>;

/** The row of the input of the second call, which entry 8 names, as it was before it was erased. */
async function erase(home: AttackedHome): Promise<Row> {
  const before: Row[] = [];
  const names: string[] = [];
  home.tamper((db) => {
    names.push(String(dataOf(db, 8)['input']));
    before.push(db.prepare('select * from journal_bodies where commitment = ?').get(...names) as Row);
  });
  await home.use(({ journal }) => journal.erase(SAMPLE_ACTOR, names.join(''), 'request'));
  expect(findingOf(await home.verify())).toBe('sound');
  return before[0] ?? {};
}

function putBack(db: DatabaseSync, row: Row, columns: readonly string[]): void {
  const set = columns.map((column) => `${column} = ?`).join(', ');
  db.prepare(`update journal_bodies set ${set} where commitment = ?`).run(
    ...columns.map((column) => row[column] ?? null),
    row['commitment'] ?? null,
  );
}

test.each([
  ['the whole row', ['salt', 'body', 'place', 'erased_by', 'erased_in'], 18],
  ['salt and bytes, while it is kept as erased', ['salt', 'body'], 8],
  ['the salt alone, with which it can be guessed', ['salt'], 8],
  ['the bytes alone', ['body'], 8],
])('%s: it is found', async (_what, columns, seq) => {
  await using home = await attack(template);
  const row = await erase(home);
  home.tamper((db) => putBack(db, row, columns));
  expect(findingOf(await home.verify())).toEqual({ code: 'body_kept', seq });
});

test('put back by whoever knows that only what came later is verified again, it is found with its erasure', async () => {
  await using home = await attack(template);
  const state = (await home.verify()).logs[0]?.state;
  const row = await erase(home);
  home.tamper((db) => putBack(db, row, ['salt', 'body', 'place', 'erased_by', 'erased_in']));
  expect(findingOf(await home.verify({}, { start: state }))).toEqual({ code: 'body_kept', seq: 18 });
});

test('erased on the record of the next log, and put back, it is found there', async () => {
  await using home = await attack(template);
  await recover(home);
  const row = await erase(home);
  home.tamper((db) => putBack(db, row, ['salt', 'body', 'place', 'erased_by', 'erased_in']));
  expect(findingOf(await home.verify())).toEqual({ code: 'body_kept', seq: 3 });
});
