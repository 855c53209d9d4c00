// T-31: somebody who can write palyra.db has an index leave out a call: every entry is there, and whoever asks finds none.
import type { DatabaseSync } from 'node:sqlite';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type AttackedHome, attack, findingOf, makeTemplate, type Template } from './tampered-home.ts';

let template: Template;
beforeAll(async () => {
  template = await makeTemplate();
});
afterAll(() => template[Symbol.asyncDispose]());

/** Of the second call, entries 8 to 12. */
const HIDDEN = 8;

/** As an index can be found by, and what an attacker has it leave out. */
const INDEXES = [
  ['journal_entries_call', 'call_id is not null'],
  ['journal_entries_run', 'run_id is not null'],
] as const;

test('calls and runs are found as long as nobody touches an index', async () => {
  await using home = await attack(template);
  for (const [index] of INDEXES) expect(foundBy(home, index)).toContain(HIDDEN);
  expect(findingOf(await home.verify())).toBe('sound');
});

describe.each(INDEXES)('%s', (index, condition) => {
  test('narrowed by its words, it is found', async () => {
    await using home = await attack(template);
    home.tamper((db) => narrow(db, index, condition));
    const report = await home.verify();
    expect(report).toMatchObject({ kind: 'broken', finding: { code: 'schema_edited' } });
    expect(report.kind === 'broken' && report.finding.why).toContain(index);
  });

  test('narrowed, filled and given back its words, it hides an entry, and verifying says which', async () => {
    await using home = await attack(template);
    home.tamper((db) => narrow(db, index, condition));
    home.tamper((db) => reword(db, index, `${condition} and id & 1099511627775 <> ${HIDDEN}`, condition));
    expect(foundBy(home, index)).not.toContain(HIDDEN);
    const report = await home.verify();
    expect(findingOf(report)).toEqual({ code: 'index_edited', seq: HIDDEN });
    expect(report.kind === 'broken' && report.finding.why).toContain(index);
  });

  test('filled with what the table does not say, it is found', async () => {
    await using home = await attack(template);
    const of = index === 'journal_entries_call' ? 'call_id' : 'run_id';
    // What has no call, or no run, is then found under a name that no entry says.
    const forged = `coalesce(${of}, 'forged')`;
    home.tamper((db) => rewordWhole(db, index, `(${of}) where ${condition}`, `(${forged}) where true`));
    home.tamper((db) => db.exec(`reindex ${index}`));
    home.tamper((db) => rewordWhole(db, index, `(${forged}) where true`, `(${of}) where ${condition}`));
    expect(findingOf(await home.verify())).toMatchObject({ code: 'index_edited' });
  });

  test('taken away, or given another beside it, it is found', async () => {
    for (const sql of [
      `drop index ${index}`,
      `create index another on journal_entries (call_id) where call_id > 'Z'`,
      `create index "journal_entries_call " on journal_entries (call_id)`,
    ]) {
      await using home = await attack(template);
      home.tamper((db) => db.exec(sql));
      expect(findingOf(await home.verify())).toMatchObject({ code: 'schema_edited' });
    }
  });
});

test('it is found as well by whoever goes on from an earlier verification', async () => {
  await using home = await attack(template);
  const before = await home.verify();
  const start = before.kind === 'sound' ? before.logs.at(-1)?.state : undefined;
  const [index, condition] = INDEXES[0];
  home.tamper((db) => narrow(db, index, condition));
  expect(findingOf(await home.verify({}, { start }))).toMatchObject({ code: 'schema_edited' });
});

test('a list of migrations that leaves one out, or has one more, does not make another schema the right one', async () => {
  await using home = await attack(template);
  home.tamper((db) => db.exec(`delete from palyra_migrations where id = 'journal/0004-by-id'`));
  expect(findingOf(await home.verify())).toMatchObject({ code: 'schema_edited' });
  home.tamper((db) => db.exec(`insert into palyra_migrations values ('journal/0005-narrower', 'x', 0)`));
  await expect(home.verify()).rejects.toMatchObject({ code: 'storage.newer_schema' });
});

/** The entries that are found through an index, as a look-up of a call or a run does. */
function foundBy(home: AttackedHome, index: string): readonly unknown[] {
  const column = index === 'journal_entries_call' ? 'call_id' : 'run_id';
  const rows: unknown[] = [];
  home.tamper((db) => {
    const { value } = db.prepare(`select ${column} as value from journal_entries where id & 255 = ?`).get(HIDDEN) as {
      value: string;
    };
    const found = db.prepare(`select seq from journal_entries indexed by ${index} where ${column} = ?`).all(value);
    rows.push(...found.map(({ seq }) => seq));
  });
  return rows;
}

function narrow(db: DatabaseSync, index: string, condition: string): void {
  reword(db, index, condition, `${condition} and id & 1099511627775 <> ${HIDDEN}`);
}

/** Changes what the schema says of an index; `reindex` then fills it by that, if the connection has read it anew. */
function reword(db: DatabaseSync, index: string, from: string, to: string): void {
  const isNarrower = to.length > from.length;
  rewordWhole(db, index, `where ${from}`, `where ${to}`);
  if (isNarrower) db.exec(`reindex ${index}`);
}

function rewordWhole(db: DatabaseSync, index: string, from: string, to: string): void {
  db.enableDefensive(false);
  db.exec('pragma writable_schema = on');
  db.prepare('update sqlite_schema set sql = replace(sql, ?, ?) where name = ?').run(from, to, index);
  const { schema_version: version } = db.prepare('pragma schema_version').get() as { schema_version: number };
  db.exec(`pragma schema_version = ${version + 1}`);
  db.exec('pragma writable_schema = reset');
}
