import { randomInt } from 'node:crypto';
import {
  createSampleCalls,
  createTemporaryHome,
  type JournalPlace,
  journalFaults,
  openJournalHome,
  SAMPLE_ACTOR,
  startJournalProcess,
  startPrivatePostgres,
} from '@palyra/testkit';
import { expect, test } from 'vitest';
import { temporaryJournal } from './temporary-journal.ts';

/** `npm run soak` kills 200 times, `npm test` a tenth of it. */
const KILLS = process.env['PALYRA_SOAK'] === '1' ? 200 : 20;
const WRITERS = 8;
/** Starting forty processes takes its time on a busy machine. */
const PATIENCE_MS = process.env['PALYRA_SOAK'] === '1' ? 3_000_000 : 300_000;

test(`after each of ${KILLS} kill -9 under load, no acknowledged entry is lost, the log verifies and goes on`, {
  timeout: PATIENCE_MS,
}, async () => {
  await using place = await temporaryJournal();
  const acknowledged: string[] = [];
  for (let kill = 0; kill < KILLS; kill += 1) {
    acknowledged.push(...(await appendUntilKilled(place)));
    await expectKept(place, acknowledged);
  }
  expect(await journalFaults(place)).toEqual([]);
});

test('after crashes of the PostgreSQL server and of its clients, the same holds', {
  timeout: PATIENCE_MS,
}, async () => {
  await using home = await createTemporaryHome();
  const cluster = await startPrivatePostgres();
  try {
    const { url } = await cluster.createDatabase();
    const place = { location: { kind: 'postgres', url, poolSize: 8 }, directory: home.path } as const;
    const acknowledged: string[] = [];
    for (let crash = 0; crash < KILLS; crash += 1) {
      acknowledged.push(...(await appendUntilKilled(place)));
      // A server takes longer to come back than a client.
      if (crash % 10 === 9) await cluster.restart('immediate');
      await expectKept(place, acknowledged);
    }
    expect(await journalFaults(place)).toEqual([]);
  } finally {
    await cluster.stop();
  }
});

async function appendUntilKilled(place: JournalPlace): Promise<readonly string[]> {
  const child = startJournalProcess({ place, writers: WRITERS, count: 100_000 });
  await child.untilAcknowledged(randomInt(1, 200));
  await child.kill();
  return child.acknowledged;
}

/** The next to open it finds everything, and appends without anybody having mended anything. */
async function expectKept(place: JournalPlace, acknowledged: readonly string[]): Promise<void> {
  await using home = await openJournalHome(place);
  const appended = await home.journal.append(SAMPLE_ACTOR, [createSampleCalls().runEnded(1)]);
  expect(appended.kind).toBe('appended');
  const rows = await home.database.read.selectFrom('journal_entries').select(['seq', 'hash']).orderBy('seq').execute();
  expect(rows.findIndex(({ seq }, at) => seq !== at)).toBe(-1);
  const kept = new Set(rows.map(({ seq, hash }) => `${seq} ${Buffer.from(hash).toString('hex')}`));
  expect(acknowledged.filter((entry) => !kept.has(entry))).toEqual([]);
  const [log] = await home.database.read.selectFrom('journal_logs').select(['size', 'sealed']).execute();
  expect(log).toEqual({ size: rows.length, sealed: rows.length });
}
