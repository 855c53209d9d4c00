import { join } from 'node:path';
import { createTemporaryHome } from '@palyra/testkit';
import { expect, test } from 'vitest';
import { openForReading, openForWriting } from './connection.ts';
import { received } from './sent-result.ts';

test('the writing connection flushes every commit to disk and checks what it is given', async () => {
  await using home = await createTemporaryHome();
  const connection = openForWriting({ path: join(home.path, 'x.db'), lockTimeoutMs: 100 });
  const pragma = (name: string) => Object.values(connection.query(`pragma ${name}`, []).rows[0] ?? {})[0];
  const FULL = 2;
  expect({
    journal: pragma('journal_mode'),
    synchronous: pragma('synchronous'),
    foreignKeys: pragma('foreign_keys'),
  }).toEqual({
    journal: 'wal',
    synchronous: FULL,
    foreignKeys: 1,
  });
  connection.close();
});

test('the statement cache forgets and goes on', async () => {
  await using home = await createTemporaryHome();
  const connection = openForWriting({ path: join(home.path, 'x.db'), lockTimeoutMs: 100 });
  for (let i = 0; i < 600; i += 1) expect(connection.query(`select ${i} as n`, []).rows).toEqual([{ n: i }]);
  connection.close();
});

test('a reading connection does not create a database', async () => {
  await using home = await createTemporaryHome();
  expect(() => openForReading({ path: join(home.path, 'none.db'), lockTimeoutMs: 100 })).toThrow(
    expect.objectContaining({ code: 'storage.permission_denied' }),
  );
});

test.each([
  ['trigger', 'create trigger t after insert on a begin delete from a; end'],
  ['view', 'create view v as select * from a'],
])('a database with a %s that somebody planted is not opened', async (_, sql) => {
  await using home = await createTemporaryHome();
  const path = join(home.path, 'x.db');
  const connection = openForWriting({ path, lockTimeoutMs: 100 });
  connection.database.exec('create table a (n integer)');
  connection.database.exec(sql);
  connection.close();
  for (const open of [openForWriting, openForReading]) {
    expect(() => open({ path, lockTimeoutMs: 100 })).toThrow(expect.objectContaining({ code: 'storage.corrupt' }));
  }
});

test('what is sent to another thread arrives as it was found, whatever it is', async () => {
  await using home = await createTemporaryHome();
  const connection = openForWriting({ path: join(home.path, 'x.db'), lockTimeoutMs: 100 });
  connection.database.exec(
    `create table t (a integer, b text, c blob, d real);
     insert into t values (1, 'one', x'0102', 1.5), (null, null, null, null), (3, '', x'', -2.25)`,
  );
  for (const sql of [
    'select a, b, c, d from t order by a',
    'select d as "a", a as "constructor", b as "toString" from t',
    'select a as "__proto__", b from t',
    'select c as "__proto__", b from t',
    'select a, b as a, c as "1", d as "0" from t',
    'select * from t',
    'select count(*) as n from t',
    'select a from t where a = 7',
    'select 1',
    'pragma journal_mode',
    'delete from t where a = 7',
  ]) {
    const sent = structuredClone(connection.queryToSend(sql, []));
    expect(received(sent)).toEqual(structuredClone(connection.query(sql, [])));
  }
  connection.close();
});

test('a table that got another column meanwhile is sent with it', async () => {
  await using home = await createTemporaryHome();
  const connection = openForWriting({ path: join(home.path, 'x.db'), lockTimeoutMs: 100 });
  const { database } = connection;
  database.exec('create table t (a integer, b integer); insert into t values (1, 2)');
  const all = () => received(connection.queryToSend('select * from t', [])).rows;
  const named = () => received(connection.queryToSend('select b, a from t', [])).rows;
  expect([all(), named()]).toEqual([[{ a: 1, b: 2 }], [{ a: 1, b: 2 }]]);
  database.exec('alter table t drop column a; alter table t add column a integer default 3');
  expect([all(), named()]).toEqual([[{ a: 3, b: 2 }], [{ a: 3, b: 2 }]]);
  connection.close();
});
