import { copyFileSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  attestSampleCall,
  bodyDirectoryOf,
  createFakeClock,
  createSampleCalls,
  createTemporaryHome,
  openJournalHome,
} from '@palyra/testkit';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { archiveSegments } from './archive-segments.ts';
import { nodeCrypto } from './node-crypto.ts';
import { pruneSegments } from './prune-segments.ts';
import { createDatabaseSource, listLogs } from './read-log.ts';
import { sealSegment } from './seal-segment.ts';
import type { SegmentDeps } from './segments.ts';
import type { VerifiedState } from './verify/report.ts';
import { verifyExport } from './verify/verify-export.ts';
import { verifyLog } from './verify/verify-log.ts';

const NO_PINS = { witnesses: [], checkpoints: [] };
const DAY = 86_400_000;
const NEVER = { entries: Number.MAX_SAFE_INTEGER, ageMs: Number.MAX_SAFE_INTEGER };

async function openSample() {
  const home = await createTemporaryHome();
  const place = { directory: home.path, location: { kind: 'sqlite', path: join(home.path, 'palyra.db') } } as const;
  const clock = createFakeClock(1_760_000_000_000);
  const { database, journal } = await openJournalHome(place, { inlineBytes: 100, clock });
  const calls = createSampleCalls();
  const directory = join(home.path, 'archive');
  const bodyDirectory = bodyDirectoryOf(place);
  const deps: SegmentDeps = {
    database,
    append: journal.appendOwn,
    bodyDirectory,
    clock,
  };
  const log = async () => {
    const [row] = await listLogs(deps.database.read);
    if (row === undefined) throw new Error('There is no log.');
    return row;
  };
  return {
    journal,
    deps,
    clock,
    directory,
    bodyDirectory,
    log,
    attest: () => attestSampleCall(journal, calls, { input: 'in', output: 'large enough for a file '.repeat(20) }),
    async verifyHome(start?: VerifiedState) {
      const source = await createDatabaseSource(deps.database.read, await log(), { directory: bodyDirectory });
      return verifyLog(source, { crypto: nodeCrypto, pins: NO_PINS, ...(start === undefined ? {} : { start }) });
    },
    async [Symbol.asyncDispose]() {
      await database.close();
      await home[Symbol.asyncDispose]();
    },
  };
}

let sample: Awaited<ReturnType<typeof openSample>>;
beforeAll(async () => {
  sample = await openSample();
});
afterAll(() => sample[Symbol.asyncDispose]());

const archives = () => readdirSync(sample.directory).toSorted((one, other) => startOf(one) - startOf(other));
const startOf = (name: string) => Number(name.split('-')[1]);
const filesIn = (directory: string) =>
  readdirSync(directory, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile()).length;

/** Verifies archive after archive, each from where the one before it ended. */
async function verifyArchives(change: (text: string, at: number) => string = (text) => text) {
  let start: VerifiedState | undefined;
  for (const [at, name] of archives().entries()) {
    const text = change(readFileSync(join(sample.directory, name), 'utf8'), at);
    const options = { crypto: nodeCrypto, pins: NO_PINS, ...(start === undefined ? {} : { start }) };
    const report = await verifyExport(text, options);
    if (report.kind === 'broken' || report.of !== 'range') return report;
    start = report.state;
  }
  return start;
}

test('a segment is sealed when it has enough entries, or is old enough, and not before', async () => {
  await sample.attest();
  const { size } = await sample.log();
  expect(await sealSegment(sample.deps, NEVER)).toEqual({ kind: 'not yet' });
  expect(await sealSegment(sample.deps, { ...NEVER, entries: size + 1 })).toEqual({ kind: 'not yet' });
  expect(await sealSegment(sample.deps, { ...NEVER, entries: size })).toEqual({ kind: 'sealed', first: 0, next: size });

  await sample.clock.advance(DAY);
  expect(await sealSegment(sample.deps, { ...NEVER, ageMs: DAY })).toEqual({ kind: 'not yet' });
  await sample.attest();
  expect(await sealSegment(sample.deps, { ...NEVER, ageMs: DAY })).toEqual({ kind: 'not yet' });
  await sample.clock.advance(DAY);
  expect(await sealSegment(sample.deps, { ...NEVER, ageMs: DAY })).toMatchObject({ kind: 'sealed', first: size });
});

test('every sealed segment is archived once, as a file that verifies and nobody else can read', async () => {
  const archived = await archiveSegments(sample.deps, sample.directory);
  expect(archived.map(({ first }) => first)).toEqual([0, archived[0]?.next]);
  expect(await archiveSegments(sample.deps, sample.directory)).toEqual([]);
  const origin = sample.journal.origin.replace('palyra/', '');
  expect(archives()).toEqual(archived.map(({ first, next }) => `${origin}-${first}-${next}.ndjson`));
  expect(archived.map(({ path }) => statSync(path).mode & 0o777)).toEqual([0o600, 0o600]);
  expect(await verifyArchives()).toMatchObject({ size: archived[1]?.next });
  expect(await sample.verifyHome()).toMatchObject({ kind: 'sound' });
});

test('nothing is pruned while it is young, or its archive is missing or another', async () => {
  const options = { directory: sample.directory, olderThanMs: 30 * DAY };
  expect(await pruneSegments(sample.deps, options)).toEqual({ kind: 'nothing to prune' });
  await sample.clock.advance(40 * DAY);
  const path = join(sample.directory, archives()[0] ?? '');
  copyFileSync(path, `${path}.copy`);
  rmSync(path);
  await expect(pruneSegments(sample.deps, options)).rejects.toMatchObject({ code: 'journal.cannot_prune' });
  writeFileSync(path, readFileSync(`${path}.copy`, 'utf8').replace('user:ada', 'user:eve'));
  await expect(pruneSegments(sample.deps, options)).rejects.toMatchObject({ code: 'journal.cannot_prune' });
  copyFileSync(`${path}.copy`, path);
  rmSync(`${path}.copy`);
  expect(await sample.log()).toMatchObject({ pruned: 0 });
});

test('what was pruned is gone with its files, and archives and home verify in sequence', async () => {
  await sample.attest();
  expect(filesIn(sample.bodyDirectory)).toBe(9);
  const { next } = await sample.deps.database.read
    .selectFrom('journal_segments')
    .select('next')
    .orderBy('next', 'desc')
    .executeTakeFirstOrThrow();
  const options = { directory: sample.directory, olderThanMs: 30 * DAY };
  expect(await pruneSegments(sample.deps, options)).toEqual({ kind: 'pruned', next });
  expect(filesIn(sample.bodyDirectory)).toBe(3);
  expect(await sample.log()).toMatchObject({ pruned: next });

  expect(await sample.verifyHome()).toMatchObject({ kind: 'sound' });
  const state = (await verifyArchives()) as VerifiedState;
  expect(state).toMatchObject({ size: next });
  expect(await sample.verifyHome(state)).toMatchObject({ kind: 'sound' });
});

test('an archive that is missing or was edited is found out', async () => {
  const [first = '', second = ''] = archives();
  const only = readFileSync(join(sample.directory, second), 'utf8');
  const start = await verifyExport(readFileSync(join(sample.directory, first), 'utf8'), {
    crypto: nodeCrypto,
    pins: NO_PINS,
  });
  if (start.kind !== 'sound' || start.of !== 'range') throw new Error('The first archive does not verify.');
  expect(
    await verifyExport(only, { crypto: nodeCrypto, pins: NO_PINS, start: { ...start.state, size: 1 } }),
  ).toMatchObject({ kind: 'broken', finding: { code: 'entry_missing', seq: 1 } });
  const edited = await verifyArchives((text, at) => (at === 1 ? text.replace('user:ada', 'user:eve') : text));
  expect(edited).toMatchObject({ kind: 'broken', finding: { code: 'entry_edited' } });
});

test('pruning again, and segments after it, go on from there', async () => {
  const before = await sample.log();
  await sample.clock.advance(DAY);
  expect(await sealSegment(sample.deps, { ...NEVER, ageMs: DAY })).toMatchObject({
    kind: 'sealed',
    first: before.pruned,
  });
  expect(await archiveSegments(sample.deps, sample.directory)).toHaveLength(1);
  await sample.clock.advance(40 * DAY);
  const options = { directory: sample.directory, olderThanMs: 30 * DAY };
  expect(await pruneSegments(sample.deps, options)).toMatchObject({ kind: 'pruned' });
  expect(filesIn(sample.bodyDirectory)).toBe(0);
  expect(await sample.verifyHome()).toMatchObject({ kind: 'sound' });
  expect(await sample.verifyHome((await verifyArchives()) as VerifiedState)).toMatchObject({ kind: 'sound' });
});
