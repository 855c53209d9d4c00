import { Client } from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { emptyDatabase } from './empty-database.ts';
import { type PrivatePostgres, startPrivatePostgres } from './private-postgres.ts';

let cluster: PrivatePostgres;

beforeAll(async () => {
  cluster = await startPrivatePostgres();
});
afterAll(async () => {
  await cluster.stop();
});

async function connect(url: string): Promise<Client> {
  const client = new Client({ connectionString: url });
  client.on('error', () => {});
  await client.connect();
  return client;
}

/** All that a database holds, and what is allowed on it. */
async function inventory(url: string): Promise<unknown> {
  const client = await connect(url);
  const { rows } = await client.query(`
    select 'schema ' || nspname as what, nspowner::regrole::text as owner, array_to_string(nspacl, ',') as access
      from pg_namespace where nspname !~ '^pg_toast'
    union all select 'relation ' || relname, '', '' from pg_class where oid >= 16384
    union all select 'routine ' || proname, '', '' from pg_proc where oid >= 16384
    union all select 'type ' || typname, '', '' from pg_type where oid >= 16384
    union all select 'large object ' || oid, '', '' from pg_largeobject_metadata
    order by what`);
  await client.end();
  return rows;
}

test('what was emptied is as if it were new, and whoever was in it is out', async () => {
  const { url } = await cluster.createDatabase();
  const fresh = await inventory(url);
  const client = await connect(url);
  await client.query(`create table a (x text primary key); create schema "My ""own"; create table "My ""own".b (x text);
    create function f() returns int language sql as 'select 1'; create type t as enum ('a'); select lo_create(0)`);
  await client.query('begin; lock table a; select pg_advisory_lock(1)');
  const ended = new Promise((resolve) => client.once('end', resolve));
  expect(await inventory(url)).not.toEqual(fresh);

  await emptyDatabase(url);
  await ended;
  expect(await inventory(url)).toEqual(fresh);
  const next = await connect(url);
  expect((await next.query('select pg_try_advisory_lock(1) as free')).rows).toEqual([{ free: true }]);
  await next.end();
});
