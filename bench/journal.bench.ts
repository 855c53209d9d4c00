import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { type HomeReport, type JournalSchema, openJournalKeys, verifyHome } from '@palyra/journal';
import { openForReading } from '@palyra/storage';
import {
  attestSampleCall,
  bodyDirectoryOf,
  createSampleCalls,
  type JournalHome,
  type JournalPlace,
  keyDirectoryOf,
  openJournalHome,
  SAMPLE_ACTOR,
  SAMPLE_SNAPSHOT,
} from '@palyra/testkit';
import { type Contender, defineBenchmark } from './harness.ts';
import { directoryOnDisk, rawAppends } from './raw-appends.ts';

interface Context {
  readonly directory: string;
  readonly logs: Record<keyof typeof LOGS, JournalPlace>;
}

/** How many entries the logs that are verified have, about: without calls, and with an attestation in every five. */
const LOGS = { plain: 30_000, attested: 10_000 } as const;
const WRITERS = 64;

export default defineBenchmark<Context>({
  name: 'journal',
  description: 'Durable, signed appends by 1, 8 and 64 writers against raw fdatasync, and verification.',
  baseline: 'fdatasync',
  ratioOf: 'per_s',
  async setup() {
    const directory = await directoryOnDisk();
    const logs = { plain: placeIn(join(directory, 'plain')), attested: placeIn(join(directory, 'attested')) };
    await fill(logs.plain, { entries: LOGS.plain, each: 1 }, 'append');
    await fill(logs.attested, { entries: LOGS.attested, each: 5 }, 'attest');
    return { directory, logs };
  },
  teardown: ({ directory }) => rm(directory, { recursive: true }),
  contenders: [
    rawAppends(),
    appends('w1', 1),
    appends('w8', 8),
    appends('w64', WRITERS),
    verification('verify', 'plain'),
    verification('verify_attested', 'attested'),
  ],
});

/** One decision in each append, as for a call that is allowed. */
function appends(name: string, concurrency: number): Contender<Context> {
  return {
    name,
    concurrency,
    async prepare({ directory }) {
      const { journal, ...home } = await openHome(join(directory, name));
      const snapshot = await journal.putSnapshot(SAMPLE_SNAPSHOT);
      const calls = createSampleCalls();
      return {
        operation: () => journal.append(SAMPLE_ACTOR, [calls.decision(snapshot)]),
        close: async () => home[Symbol.asyncDispose](),
      };
    },
  };
}

/** Entries per second, from the first of the log to the last, by somebody who pinned the root key. */
function verification(name: string, log: keyof Context['logs']): Contender<Context> {
  return {
    name,
    async prepare({ logs }) {
      const place = logs[log];
      const database = await openForReading<JournalSchema>({ location: place.location, lockTimeoutMs: 5_000 });
      const pins = {
        rootKey: openJournalKeys(keyDirectoryOf(place)).root().publicKey,
        witnesses: [],
        checkpoints: [],
      };
      const verify = () => verifyHome({ database, bodyDirectory: bodyDirectoryOf(place), pins });
      return {
        things: entriesIn(await verify()),
        operation: async () => void entriesIn(await verify()),
        close: () => database.close(),
      };
    },
  };
}

function entriesIn(report: HomeReport): number {
  if (report.kind === 'broken') throw new Error(`${report.finding.code}: ${report.finding.why}`);
  return report.logs.reduce((sum, { counts }) => sum + counts.entries, 0);
}

interface Filling {
  append(): Promise<unknown>;
  attest(): Promise<unknown>;
}

interface Amount {
  readonly entries: number;
  /** How many entries one step adds. */
  readonly each: number;
}

async function fill(place: JournalPlace, { entries, each }: Amount, step: keyof Filling): Promise<void> {
  const { journal, ...home } = await openHome(place.directory);
  const snapshot = await journal.putSnapshot(SAMPLE_SNAPSHOT);
  const calls = createSampleCalls();
  const filling: Filling = {
    append: () => journal.append(SAMPLE_ACTOR, [calls.decision(snapshot)]),
    attest: () => attestSampleCall(journal, calls, { input: 'git status', output: 'nothing to commit\n' }),
  };
  let left = entries / each;
  const lane = async () => {
    while (left > 0) {
      left -= 1;
      await filling[step]();
    }
  };
  await Promise.all(Array.from({ length: WRITERS }, lane));
  await home[Symbol.asyncDispose]();
}

async function openHome(directory: string): Promise<JournalHome> {
  await mkdir(directory, { recursive: true, mode: 0o700 });
  return openJournalHome(placeIn(directory));
}

function placeIn(directory: string): JournalPlace {
  return { directory, location: { kind: 'sqlite', path: join(directory, 'palyra.db') } };
}
