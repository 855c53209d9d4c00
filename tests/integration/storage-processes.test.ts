import { execFileSync } from 'node:child_process';
import { DatabaseSync } from 'node:sqlite';
import { program } from '@palyra/storage';
import { balanceOf, brokenLink, openLedger, putAccount, startLedgerProcess } from '@palyra/testkit';
import { expect, test, vi } from 'vitest';
import { temporaryLedger } from './temporary-ledger.ts';

test('two processes append to one SQLite file and the chain has no holes', async () => {
  await using place = await temporaryLedger();
  const processes = ['one', 'two'].map((label) =>
    startLedgerProcess({ location: place.location, label, writers: 4, count: 100 }),
  );
  expect(await Promise.all(processes.map((child) => child.end()))).toEqual([0, 0]);

  const ledger = await openLedger({ location: place.location });
  const entries = await ledger.read.selectFrom('entries').selectAll().orderBy('seq').execute();
  await ledger.close();
  expect(brokenLink(entries)).toBeUndefined();
  expect(entries.map(({ body }) => body).toSorted()).toEqual(
    processes.flatMap(({ acknowledged }) => acknowledged).toSorted(),
  );
});

test('one database hears what another one on the same file commits', async () => {
  await using place = await temporaryLedger();
  const [ledger, other] = [await openLedger(place), await openLedger(place)];
  const heard: string[] = [];
  await ledger.subscribe('entries', (event) => heard.push(event.kind === 'notified' ? event.payload : 'gap'));
  for (let i = 0; i < 200; i += 1) {
    await other.commit({
      steps: [program('ledger.append', { body: `${i}` })],
      notifications: [{ channel: 'entries', payload: `${i}` }],
    });
  }
  // More than the file system's events deliver reliably: the slow poll brings the rest.
  await vi.waitFor(() => expect(heard).toEqual(Array.from({ length: 200 }, (_, i) => `${i}`)), { timeout: 10_000 });
  await Promise.all([ledger.close(), other.close()]);
});

test('a visitor with another SQLite leaves the write-ahead log alone, however often we have opened the file', async () => {
  await using place = await temporaryLedger();
  const ledger = await openLedger(place);
  await putAccount(ledger, 'first', 1);
  await balanceOf(ledger, 'first');
  const second = await openLedger(place);
  await second.close();
  for (let i = 0; i < 50; i += 1) await putAccount(ledger, `before ${i}`, i);
  await balanceOf(ledger, 'before 1');
  // An older library takes the file for unused when our locks are gone, and removes the log as it leaves.
  const visit =
    'import sqlite3, sys; c = sqlite3.connect(sys.argv[1]); c.execute("select id from accounts").fetchall(); c.close()';
  execFileSync('/usr/bin/python3', ['-c', visit, place.location.path]);
  for (let i = 0; i < 50; i += 1) await putAccount(ledger, `after ${i}`, i);
  await ledger.close();

  const reopened = await openLedger(place);
  expect(await reopened.read.selectFrom('accounts').select('id').execute()).toHaveLength(101);
  await reopened.close();
});

test('a lock held by another connection is a typed error, and writing goes on when it is gone', async () => {
  await using place = await temporaryLedger();
  const ledger = await openLedger({ location: place.location, lockTimeoutMs: 50 });
  const other = new DatabaseSync(place.location.path, { timeout: 5_000 });
  other.exec('begin immediate');
  await expect(putAccount(ledger, 'alice', 1)).rejects.toMatchObject({
    code: 'storage.locked',
    fix: expect.stringContaining('lock_timeout_ms'),
  });
  other.exec('rollback');
  await putAccount(ledger, 'alice', 1);
  other.close();
  await ledger.close();
});

test('a lock that is given up in time is waited for', async () => {
  await using place = await temporaryLedger();
  const ledger = await openLedger(place);
  const other = new DatabaseSync(place.location.path, { timeout: 5_000 });
  other.exec('begin immediate');
  const waiting = putAccount(ledger, 'alice', 1);
  // The event loop is free meanwhile, or this reading would never be answered.
  expect(await ledger.read.selectFrom('accounts').selectAll().execute()).toEqual([]);
  other.exec('commit');
  await waiting;
  other.close();
  await ledger.close();
});
