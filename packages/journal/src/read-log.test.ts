import { join } from 'node:path';
import {
  attestSampleCall,
  bodyDirectoryOf,
  createFakeClock,
  createSampleCalls,
  createTemporaryHome,
  openJournalHome,
  SAMPLE_ACTOR,
} from '@palyra/testkit';
import { expect, test } from 'vitest';
import { archiveSegments } from './archive-segments.ts';
import { nodeCrypto } from './node-crypto.ts';
import { pruneSegments } from './prune-segments.ts';
import { createDatabaseSource, listLogs } from './read-log.ts';
import { sealSegment } from './seal-segment.ts';
import type { SegmentDeps } from './segments.ts';
import { verifyLog } from './verify/verify-log.ts';
import { verifyHome } from './verify-home.ts';

const NO_PINS = { witnesses: [], checkpoints: [] };

/** Opened by a writer, which goes on while the log is verified. */
async function openSample() {
  const home = await createTemporaryHome();
  const place = { directory: home.path, location: { kind: 'sqlite', path: join(home.path, 'palyra.db') } } as const;
  const clock = createFakeClock(1_760_000_000_000);
  const { database, journal } = await openJournalHome(place, { inlineBytes: 100, clock });
  const bodyDirectory = bodyDirectoryOf(place);
  const deps: SegmentDeps = { database, append: journal.appendOwn, bodyDirectory, clock };
  const { read } = deps.database;
  const calls = createSampleCalls();
  const archive = join(home.path, 'archive');
  return {
    journal,
    read,
    bodyDirectory,
    attest: (output: string) => attestSampleCall(journal, calls, { input: 'what was asked', output }),
    async source(through = read) {
      const [log] = await listLogs(read);
      if (log === undefined) throw new Error('There is no log.');
      return createDatabaseSource(through, log, { directory: bodyDirectory });
    },
    /** Everything up to now is sealed and in an archive, so that it can be pruned at once. */
    async makePrunable() {
      await sealSegment(deps, { entries: 1, ageMs: Number.MAX_SAFE_INTEGER });
      await archiveSegments(deps, archive);
    },
    prune: () => pruneSegments(deps, { directory: archive, olderThanMs: 0 }),
    async [Symbol.asyncDispose]() {
      await database.close();
      await home[Symbol.asyncDispose]();
    },
  };
}

test('a body that is erased while the log is verified is left out, and nothing is wrong', async () => {
  await using sample = await openSample();
  const inRow = (await sample.attest('short')).facts.input_sha256;
  const inFile = (await sample.attest('long enough for a file '.repeat(20))).facts.output_sha256 ?? '';
  const source = await sample.source();
  for (const body of [inRow, inFile]) await sample.journal.erase(SAMPLE_ACTOR, body, 'request');

  expect(await verifyLog(source, { crypto: nodeCrypto, pins: NO_PINS })).toMatchObject({
    kind: 'sound',
    counts: { bodies: { checked: 6, erased: 0, leftOut: 2 } },
    remarks: ['2 bodies are said to be erased by entries that were not looked at here.'],
  });
  expect(await verifyLog(await sample.source(), { crypto: nodeCrypto, pins: NO_PINS })).toMatchObject({
    counts: { bodies: { checked: 6, erased: 2, leftOut: 0 } },
    remarks: [],
  });
});

test('a body in a file that is erased between its row and its file is not called missing', async () => {
  await using sample = await openSample();
  const body = (await sample.attest('long enough for a file '.repeat(20))).facts.output_sha256 ?? '';
  const act = () => sample.journal.erase(SAMPLE_ACTOR, body, 'request');
  const source = await sample.source(interrupted(sample.read, 'journal_bodies', { query: 1, when: 'after', act }));
  expect(await source.body?.(body)).toEqual({ kind: 'said to be erased' });
});

test('the sizes that witnesses saw are known before the log is read', async () => {
  await using sample = await openSample();
  const cosigned = { root: 'a'.repeat(64), witness: 'witness.example', witness_key: 'b'.repeat(64), time: 7 };
  const data = { ...cosigned, size: 3, signature: 'c'.repeat(128) };
  await sample.journal.appendOwn(SAMPLE_ACTOR, [{ kind: 'checkpoint.cosigned', data }]);
  expect(await (await sample.source()).cosignedSizes?.()).toEqual([3]);
});

test('a log that is pruned while it is verified is verified again from where it then begins', async () => {
  await using sample = await openSample();
  await sample.attest('short');
  await sample.makePrunable();
  await sample.attest('short');
  const read = interrupted(sample.read, 'journal_bodies', { query: 1, act: sample.prune });
  const { bodyDirectory } = sample;
  const report = await verifyHome({ database: { read, dialect: 'sqlite' }, bodyDirectory, pins: NO_PINS });
  expect(report).toMatchObject({
    kind: 'sound',
    logs: [{ remarks: [expect.stringMatching(/^Entries before \d+ are not here/)] }],
  });
});

test('a log that is pruned each time it is verified is not called broken', async () => {
  await using sample = await openSample();
  await sample.attest('short');
  const act = async () => {
    await sample.makePrunable();
    await sample.prune();
    await sample.attest('short');
  };
  const read = interrupted(sample.read, 'journal_bodies', { query: 'each', act });
  const database = { read, dialect: 'sqlite' } as const;
  await expect(verifyHome({ database, bodyDirectory: sample.bodyDirectory, pins: NO_PINS })).rejects.toMatchObject({
    code: 'journal.pruned_meanwhile',
  });
});

interface Interruption {
  readonly query: number | 'each';
  /** Absent: before it. */
  readonly when?: 'after';
  act(): Promise<unknown>;
}

/** Does something beside the queries of a table, as another process would. */
function interrupted<Read extends object>(read: Read, table: string, { query, when, act }: Interruption): Read {
  let queries = 0;
  const wrapped = (builder: object): object =>
    new Proxy(builder, {
      get(target, name) {
        const value = Reflect.get(target, name) as unknown;
        if (typeof value !== 'function') return value;
        if (name !== 'execute') return (...given: unknown[]) => wrapped(value.apply(target, given) as object);
        return async () => {
          queries += 1;
          const isNow = query === 'each' || queries === query;
          if (isNow && when === undefined) await act();
          const rows = (await value.call(target)) as unknown;
          if (isNow && when === 'after') await act();
          return rows;
        };
      },
    });
  return new Proxy(read, {
    get(target, name) {
      const value = Reflect.get(target, name) as (from: string) => object;
      if (name !== 'selectFrom') return value;
      return (from: string) => (from === table ? wrapped(value.call(target, from)) : value.call(target, from));
    },
  });
}
