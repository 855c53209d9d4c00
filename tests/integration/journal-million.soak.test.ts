import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { type Journal, type JournalSchema, openJournalKeys, verifyHome } from '@palyra/journal';
import { openForReading } from '@palyra/storage';
import {
  bodyDirectoryOf,
  createSampleCalls,
  type JournalPlace,
  keyDirectoryOf,
  openJournalHome,
  SAMPLE_ACTOR,
  SAMPLE_SNAPSHOT,
} from '@palyra/testkit';
import { expect, test } from 'vitest';
import { temporaryJournal } from './temporary-journal.ts';

/** `npm run soak` appends a million entries, `npm test` a fiftieth of them. */
const ENTRIES = process.env['PALYRA_SOAK'] === '1' ? 1_000_000 : 20_000;
const CHUNKS = 10;
const IN_FLIGHT = 256;
const PATIENCE_MS = process.env['PALYRA_SOAK'] === '1' ? 3_000_000 : 300_000;
/** The hashes of a million entries alone are twice as much. */
const ROOM_BYTES = 16 * 1024 * 1024;
/** `log.created` and the two keys. */
const FIRST = 3;

test(`${ENTRIES} entries: the last cost what the first did, and verifying them takes no more memory at the end`, {
  timeout: PATIENCE_MS,
}, async () => {
  await using place = await temporaryJournal();
  const chunks = await appendInChunks(place);
  const [first = 0] = chunks;
  process.stdout.write(
    `append, time of each chunk to the first: ${chunks.map((ms) => (ms / first).toFixed(2)).join(' ')}\n`,
  );

  const { size, heap, perSecond } = await verifyWatchingMemory(place);
  process.stdout.write(
    `verify: ${perSecond} entries/s; heap ${heap.map((bytes) => `${Math.round(bytes / 2 ** 20)}`).join(' ')} MiB\n`,
  );
  expect(size).toBe(ENTRIES + FIRST);
  const grown = Math.max(...heap.slice(heap.length / 2)) - Math.max(...heap.slice(0, heap.length / 2));
  expect(grown).toBeLessThan(ROOM_BYTES);
});

async function appendInChunks(place: JournalPlace): Promise<readonly number[]> {
  await using home = await openJournalHome(place);
  const snapshot = await home.journal.putSnapshot(SAMPLE_SNAPSHOT);
  const times: number[] = [];
  for (let chunk = 0; chunk < CHUNKS; chunk += 1) {
    const start = performance.now();
    await appendMany(home.journal, snapshot, ENTRIES / CHUNKS);
    times.push(performance.now() - start);
  }
  return times;
}

async function appendMany(journal: Journal, snapshot: string, count: number): Promise<void> {
  const calls = createSampleCalls();
  let left = count;
  const lane = async () => {
    while (left > 0) {
      left -= 1;
      await journal.append(SAMPLE_ACTOR, [calls.decision(snapshot)]);
    }
  };
  await Promise.all(Array.from({ length: IN_FLIGHT }, lane));
}

async function verifyWatchingMemory(place: JournalPlace) {
  const database = await openForReading<JournalSchema>({ location: place.location, lockTimeoutMs: 5_000 });
  const heap: number[] = [];
  const start = performance.now();
  const report = await verifyHome({
    database,
    bodyDirectory: bodyDirectoryOf(place),
    pins: { rootKey: openJournalKeys(keyDirectoryOf(place)).root().publicKey, witnesses: [], checkpoints: [] },
    progress: (entries) => {
      if (entries >= ((heap.length + 1) * ENTRIES) / (2 * CHUNKS)) heap.push(heapUsed());
    },
  });
  const seconds = (performance.now() - start) / 1000;
  await database.close();
  if (report.kind === 'broken') throw new Error(`${report.finding.code}: ${report.finding.why}`);
  const size = report.logs.reduce((sum, log) => sum + log.size, 0);
  return { size, heap, perSecond: Math.round(size / seconds) };
}

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

/** What is really kept. Buffers are not on the heap. */
function heapUsed(): number {
  collectGarbage();
  const { heapUsed: heap, external } = process.memoryUsage();
  return heap + external;
}
