import { execFileSync } from 'node:child_process';
import { chownSync, mkdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { program, sql, statement } from '@palyra/storage';
import {
  balanceOf,
  brokenLink,
  type Ledger,
  type LedgerSchema,
  openLedger,
  type PrivatePostgres,
  putAccount,
  startPrivatePostgres,
} from '@palyra/testkit';
import type { Kysely } from 'kysely';
import pg from 'pg';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { cuttingProxy } from './cutting-proxy.ts';

/** These tests stop, restart and starve the server, so they have one of their own. */
let cluster: PrivatePostgres;
beforeAll(async () => {
  cluster = await startPrivatePostgres();
});
afterAll(() => cluster.stop());

test('a restart under load loses nothing, repeats nothing, and no writer notices', async () => {
  const { ledger, url } = await freshLedger();
  const appended: string[] = [];
  let restarted = false;
  const write = async (writer: number) => {
    for (let i = 0; !restarted || i < 20; i += 1) {
      const body = `${writer} ${i}`;
      await ledger.commit({ steps: [program('ledger.append', { body })] });
      appended.push(body);
    }
  };
  const writers = Array.from({ length: 8 }, (_, writer) => write(writer));
  for (const mode of ['fast', 'immediate', 'immediate', 'immediate', 'immediate'] as const) {
    const before = appended.length;
    await vi.waitUntil(() => appended.length > before + 50, { timeout: 20_000 });
    await cluster.restart(mode);
  }
  restarted = true;
  await Promise.all(writers);

  const entries = await ledger.read.selectFrom('entries').selectAll().orderBy('seq').execute();
  expect(brokenLink(entries)).toBeUndefined();
  expect(entries.map(({ body }) => body).toSorted()).toEqual(appended.toSorted());
  await ledger.close();
  expect(url).toContain(encodeURIComponent(cluster.socketDir));
});

test('a subscriber is told of the gap after a reconnect and hears again', async () => {
  const { ledger } = await freshLedger();
  const events: string[] = [];
  await ledger.subscribe('accounts', (event) => events.push(event.kind === 'gap' ? 'gap' : event.payload));
  const notify = (payload: string) => ledger.commit({ steps: [], notifications: [{ channel: 'accounts', payload }] });
  await notify('before');
  await vi.waitUntil(() => events.length === 1);
  await cluster.restart('fast');
  await vi.waitUntil(() => events.at(-1) === 'gap', { timeout: 20_000 });
  await notify('after');
  await vi.waitFor(() => expect(events).toEqual(['before', 'gap', 'after']));
  await ledger.close();
});

test.each([
  { when: 'before the server saw it', cut: 'request' },
  { when: 'after the server had done it', cut: 'answer' },
] as const)('a commit whose connection breaks $when happens exactly once', async ({ cut }) => {
  const { ledger: direct, url } = await freshLedger();
  await using proxy = await cuttingProxy({ socketDir: cluster.socketDir, cut });
  const location = { kind: 'postgres', url: proxy.through(url), poolSize: 2, patienceMs: 1_500 } as const;
  const ledger = await openLedger({ location, lockTimeoutMs: 500 });
  proxy.arm();
  const outcome = await ledger.commit({ steps: [program('ledger.append', { body: 'in doubt' })] });
  expect({ outcome, cuts: proxy.cuts }).toEqual({
    outcome: { kind: 'committed', results: [{ kind: 'program', output: 1 }] },
    cuts: 1,
  });
  expect(await direct.read.selectFrom('entries').select('body').execute()).toEqual([{ body: 'in doubt' }]);
  await Promise.all([ledger.close(), direct.close()]);
});

test('a server that falls silent is given up, nothing was written, and the next unit is', async () => {
  const { ledger: direct, url } = await freshLedger();
  await using proxy = await cuttingProxy({ socketDir: cluster.socketDir, cut: 'silence' });
  const location = { kind: 'postgres', url: proxy.through(url), poolSize: 2, patienceMs: 500 } as const;
  const ledger = await openLedger({ location, lockTimeoutMs: 500 });
  proxy.arm();
  const append = (body: string) => ledger.commit({ steps: [program('ledger.append', { body })] });
  await expect(append('unheard')).rejects.toMatchObject({ code: 'storage.unavailable' });
  expect(await append('heard')).toMatchObject({ kind: 'committed' });
  expect(await direct.read.selectFrom('entries').select('body').execute()).toEqual([{ body: 'heard' }]);
  await Promise.all([ledger.close(), direct.close()]);
});

test('a server that stays away is a typed error', async () => {
  const { url } = await freshLedger();
  const location = {
    kind: 'postgres',
    url: url.replace(encodeURIComponent(cluster.socketDir), '%2Ftmp%2Fnowhere'),
    poolSize: 2,
  } as const;
  await expect(openLedger({ location })).rejects.toMatchObject({
    code: 'storage.unavailable',
    fix: expect.any(String),
  });
});

test.each([
  {
    what: 'an unknown role',
    change: (url: string) => url.replace('postgres@', 'mallory@'),
    code: 'storage.permission_denied',
  },
  {
    what: 'an unknown database',
    change: (url: string) => url.replace(/localhost\/[^?]+/, 'localhost/nothing_here'),
    code: 'storage.unavailable',
  },
])('$what is $code', async ({ change, code }) => {
  const { url, ledger } = await freshLedger();
  await ledger.close();
  await expect(openLedger({ location: { kind: 'postgres', url: change(url), poolSize: 2 } })).rejects.toMatchObject({
    code,
  });
});

test('the marks of old units are pruned, those of an hour are kept', async () => {
  const { url, ledger: first } = await freshLedger();
  await first.close();
  const old = Date.now() - 2 * 3_600_000;
  await onServer(url, `insert into palyra_units select 'old ' || i, ${old} from generate_series(1, 50) i`);
  const ledger = await openLedger({ location: { kind: 'postgres', url, poolSize: 2 } });
  await putAccount(ledger, 'alice', 1);
  const marks = () =>
    (ledger.read as unknown as Kysely<{ palyra_units: { id: string } }>)
      .selectFrom('palyra_units')
      .select('id')
      .execute();
  await vi.waitFor(async () => expect(await marks()).toHaveLength(1));
  await ledger.close();
});

test('a row locked by another session is a typed error, and writing goes on when it is gone', async () => {
  const { url, ledger: opened } = await freshLedger();
  await opened.close();
  const ledger = await openLedger({ location: { kind: 'postgres', url, poolSize: 2 }, lockTimeoutMs: 100 });
  await putAccount(ledger, 'alice', 1);
  const other = new pg.Client({ connectionString: url });
  await other.connect();
  await other.query(`begin; update accounts set balance = 2 where id = 'alice'`);
  const take = {
    steps: [statement(ledger.write.updateTable('accounts').set({ balance: 0 }).where('id', '=', 'alice'), { rows: 1 })],
  };
  await expect(ledger.commit(take)).rejects.toMatchObject({ code: 'storage.locked' });
  await other.query('rollback');
  expect(await ledger.commit(take)).toMatchObject({ kind: 'committed' });
  await other.end();
  await ledger.close();
});

test('a server that forgets what it acknowledged is refused', async () => {
  const { url, ledger } = await freshLedger();
  await ledger.close();
  await cluster.restart('fast', { fsync: 'off' });
  await expect(openLedger({ location: { kind: 'postgres', url, poolSize: 2 } })).rejects.toMatchObject({
    code: 'storage.not_durable',
    fix: 'Set fsync = on in postgresql.conf.',
  });
  await cluster.restart('fast');
});

test('options in the URL weaken neither durability nor the reading side', async () => {
  const { url, ledger: first } = await freshLedger();
  await first.close();
  const weakened = `${url}&options=${encodeURIComponent('-c synchronous_commit=off -c default_transaction_read_only=off')}`;
  const ledger = await openLedger({ location: { kind: 'postgres', url: weakened, poolSize: 2 } });
  const insert = (ledger.read as Kysely<LedgerSchema>).insertInto('accounts').values({ id: 'eve', balance: 1 });
  await expect(insert.execute()).rejects.toMatchObject({ code: 'storage.read_only' });
  const setting = sql<string>`current_setting('synchronous_commit')`.as('setting');
  const account = ledger.write.insertInto('accounts').values({ id: 'alice', balance: 1 }).returning(setting);
  expect(await ledger.commit({ steps: [statement(account)] })).toMatchObject({
    results: [{ rows: [{ setting: 'on' }] }],
  });
  await ledger.close();
});

const mayMount = process.geteuid?.() === 0;

test.skipIf(!mayMount)('a full disk refuses new units and recovers [needs: root]', async () => {
  const { ledger, url } = await freshLedger();
  const disk = join(cluster.dataDir, '..', 'disk');
  mkdirSync(disk);
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=4m,mode=0700', 'tmpfs', disk]);
  const { uid, gid } = statSync(cluster.dataDir);
  chownSync(disk, uid, gid);
  const ballast = join(disk, 'ballast');
  try {
    await onServer(url, `create tablespace small location '${disk}'`, 'alter table specimens set tablespace small');
    // Written after the tablespace was made, which wants an empty directory.
    writeFileSync(ballast, Buffer.alloc(1024 * 1024));
    const fault = await fillSpecimens(ledger);
    expect(fault).toMatchObject({ code: 'storage.disk_full' });
    await putAccount(ledger, 'elsewhere', 1);
    rmSync(ballast);
    await ledger.commit({
      steps: [statement(ledger.write.insertInto('specimens').values({ id: 'after' }), { rows: 1 })],
    });
    expect(await balanceOf(ledger, 'elsewhere')).toBe(1);
    await ledger.close();
    await onServer(url, 'drop table specimens', 'drop tablespace small');
  } finally {
    // Lazily: the server's checkpointer may still hold a file of the tablespace.
    execFileSync('umount', ['--lazy', disk]);
  }
});

async function freshLedger(): Promise<{ ledger: Ledger; url: string }> {
  const { url } = await cluster.createDatabase();
  return { url, ledger: await openLedger({ location: { kind: 'postgres', url, poolSize: 8 } }) };
}

async function onServer(url: string, ...statements: readonly string[]): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  for (const text of statements) await client.query(text);
  await client.end();
}

async function fillSpecimens(ledger: Ledger): Promise<unknown> {
  for (let i = 0; i < 200; i += 1) {
    // Random bytes, or the server would compress them out of the way.
    const bytes = crypto.getRandomValues(new Uint8Array(60_000));
    try {
      await ledger.commit({
        steps: [statement(ledger.write.insertInto('specimens').values({ id: `${i}`, bytes }), { rows: 1 })],
      });
    } catch (fault) {
      return fault;
    }
  }
  return 'the disk never became full';
}
