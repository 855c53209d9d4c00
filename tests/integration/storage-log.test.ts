import { randomInt } from 'node:crypto';
import { statSync } from 'node:fs';
import { statement } from '@palyra/storage';
import { brokenLink, openLedger, startLedgerProcess } from '@palyra/testkit';
import { expect, test } from 'vitest';
import { temporaryLedger } from './temporary-ledger.ts';

const MIB = 1024 * 1024;
/** It is full at 16 MiB, and grows while it is emptied. */
const MOST_LOG = 48 * MIB;
const ROWS = 120;

test('the write-ahead log is emptied beside the commits, and does not grow with them', async () => {
  await using place = await temporaryLedger();
  const { location } = place;
  if (location.kind !== 'sqlite') throw new Error('This is about SQLite.');
  const ledger = await openLedger({ location });
  let most = 0;
  for (let row = 0; row < ROWS; row += 1) {
    const values = { id: `row ${row}`, bytes: new Uint8Array(MIB).fill(row) };
    await ledger.commit({ steps: [statement(ledger.write.insertInto('specimens').values(values), { rows: 1 })] });
    // It looks now and then, and not at the size of what was written.
    for (let small = 0; small < 16; small += 1) await ledger.commit({ steps: [] });
    most = Math.max(most, statSync(`${location.path}-wal`).size);
  }
  expect(most).toBeGreaterThan(16 * MIB);
  expect(most).toBeLessThan(MOST_LOG);
  await ledger.close();

  const again = await openLedger({ location });
  const { rows } = await again.read
    .selectFrom('specimens')
    .select(({ fn }) => fn.countAll<number>().as('rows'))
    .executeTakeFirstOrThrow();
  expect(rows).toBe(ROWS);
  await again.close();
});

test('what was acknowledged is there after kill -9, however often the log was emptied before', {
  timeout: 120_000,
}, async () => {
  await using place = await temporaryLedger();
  const child = startLedgerProcess({ location: place.location, label: 'killed', writers: 8, count: 100_000 });
  // Some five pages a commit: the log is full after a thousand commits or less.
  await child.untilAcknowledged(randomInt(6_000, 9_000));
  await child.kill();
  const { acknowledged } = child;
  const ledger = await openLedger(place);
  const entries = await ledger.read.selectFrom('entries').selectAll().orderBy('seq').execute();
  const kept = new Set(entries.map(({ body }) => body));
  expect(brokenLink(entries)).toBeUndefined();
  expect(acknowledged.filter((body) => !kept.has(body))).toEqual([]);
  await ledger.close();
});
