import { randomInt } from 'node:crypto';
import {
  brokenLink,
  type Ledger,
  type LedgerOptions,
  openLedger,
  startLedgerProcess,
  startPrivatePostgres,
} from '@palyra/testkit';
import { expect, test } from 'vitest';
import { temporaryLedger } from './temporary-ledger.ts';

/** `npm run soak` kills 200 times, `npm test` a few times. */
const KILLS = process.env['PALYRA_SOAK'] === '1' ? 200 : 6;
const WRITERS = 8;
/** Starting forty processes takes its time on a busy machine. */
const PATIENCE_MS = process.env['PALYRA_SOAK'] === '1' ? 3_000_000 : 300_000;

test(`after each of ${KILLS} kill -9 in the middle of writes, everything acknowledged is there and the chain is whole`, {
  timeout: PATIENCE_MS,
}, async () => {
  await using place = await temporaryLedger();
  const acknowledged: string[] = [];
  for (let kill = 0; kill < KILLS; kill += 1) {
    acknowledged.push(...(await writeUntilKilled(place.location, `kill ${kill}`)));
    const ledger = await openLedger(place);
    await expectKept(ledger, acknowledged);
    await ledger.close();
  }
});

test('after crashes of the PostgreSQL server and of its clients, everything acknowledged is there', {
  timeout: PATIENCE_MS,
}, async () => {
  const cluster = await startPrivatePostgres();
  try {
    const { url } = await cluster.createDatabase();
    const location = { kind: 'postgres', url, poolSize: 8 } as const;
    const acknowledged: string[] = [];
    for (let crash = 0; crash < KILLS / 10; crash += 1) {
      acknowledged.push(...(await writeUntilKilled(location, `crash ${crash}`)));
      await cluster.restart('immediate');
      const ledger = await openLedger({ location });
      await expectKept(ledger, acknowledged);
      await ledger.close();
    }
  } finally {
    await cluster.stop();
  }
});

async function writeUntilKilled(location: LedgerOptions['location'], label: string): Promise<readonly string[]> {
  const child = startLedgerProcess({ location, label, writers: WRITERS, count: 100_000 });
  await child.untilAcknowledged(randomInt(1, 400));
  await child.kill();
  return child.acknowledged;
}

async function expectKept(ledger: Ledger, acknowledged: readonly string[]): Promise<void> {
  const entries = await ledger.read.selectFrom('entries').selectAll().orderBy('seq').execute();
  const kept = new Set(entries.map(({ body }) => body));
  expect(brokenLink(entries)).toBeUndefined();
  expect(acknowledged.filter((body) => !kept.has(body))).toEqual([]);
}
