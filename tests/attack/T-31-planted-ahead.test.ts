/**
 * T-31: rows are put beside the chain where Palyra comes upon them only later: it would then refuse to go on, stop archiving,
 * make receipts that do not verify, or keep other hashes than those of the entries that it throws away.
 */
import { join } from 'node:path';
import { archiveSegments, pruneSegments, type SegmentDeps, sealSegment } from '@palyra/journal';
import { systemClock } from '@palyra/primitives';
import { attestSampleCall, bodyDirectoryOf, createSampleCalls, type JournalHome, SAMPLE_ACTOR } from '@palyra/testkit';
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  type AttackedHome,
  attack,
  copyEntry,
  findingOf,
  makeTemplate,
  recover,
  type Template,
} from './tampered-home.ts';

let template: Template;
beforeAll(async () => {
  template = await makeTemplate();
});
afterAll(() => template[Symbol.asyncDispose]());

const archiveOf = ({ place }: AttackedHome) => join(place.directory, 'archive');

function depsOf({ place }: AttackedHome, { journal, database }: JournalHome): SegmentDeps {
  return { database, append: journal.appendOwn, bodyDirectory: bodyDirectoryOf(place), clock: systemClock };
}

async function sealAndArchive(home: AttackedHome): Promise<void> {
  await home.use(async (opened) => {
    await sealSegment(depsOf(home, opened), { entries: 1, ageMs: 0 });
    await archiveSegments(depsOf(home, opened), archiveOf(home));
  });
}

async function prune(home: AttackedHome): Promise<void> {
  await home.use(async (opened) => {
    const options = { directory: archiveOf(home), olderThanMs: -60_000 };
    expect(await pruneSegments(depsOf(home, opened), options)).toMatchObject({ kind: 'pruned' });
  });
}

async function goOn(home: AttackedHome): Promise<void> {
  await home.use(async ({ journal }) => {
    await attestSampleCall(journal, createSampleCalls(), { input: 'ls', output: 'x' });
  });
}

const COPY = 'change, role, public_key, position, signature';

test.each([
  ['a key statement that the log comes to later', `select log, 1700, ${COPY} from journal_keys limit 1`],
  [
    'that the key in use is retired',
    `select log, 1700, 'retired', role, public_key, position, signature from journal_keys where role = 'checkpoint'`,
  ],
])('%s is found', async (_, row) => {
  await using home = await attack(template);
  home.tamper((db) => db.exec(`insert into journal_keys ${row}`));
  expect(findingOf(await home.verify())).toMatchObject({ code: 'index_edited' });
});

test('a key statement that is kept at another entry is found', async () => {
  await using home = await attack(template);
  await home.use(({ journal }) => journal.rotateKey(SAMPLE_ACTOR, 'attestation'));
  await goOn(home);
  expect(findingOf(await home.verify())).toBe('sound');
  home.tamper((db) => db.exec('update journal_keys set seq = seq + 1 where seq = (select max(seq) from journal_keys)'));
  expect(findingOf(await home.verify())).toMatchObject({ code: 'index_edited' });
});

test.each([
  'journal_nodes values (1, 8, 0, zeroblob(32))',
  'journal_nodes values (1, 3, 0, zeroblob(32))',
  'journal_nodes values (1, 8, -1, zeroblob(32))',
  'journal_tiles values (1, 0, zeroblob(32))',
  'journal_tiles values (1, 7, zeroblob(32))',
])('a hash of entries that are not there yet, or not pruned, is found: %s', async (row) => {
  await using home = await attack(template);
  home.tamper((db) => db.exec(`insert into ${row}`));
  expect(findingOf(await home.verify())).toEqual({ code: 'head_edited', seq: undefined });
});

test('hashes that nobody pruned do not become those of what is', async () => {
  await using home = await attack(template);
  home.tamper((db) => db.exec('insert into journal_tiles values (1, 0, zeroblob(32))'));
  await sealAndArchive(home);
  await prune(home);
  expect(findingOf(await home.verify())).toBe('sound');
});

test('nor does what stands behind those that were', async () => {
  await using home = await attack(template);
  await sealAndArchive(home);
  await prune(home);
  home.tamper((db) => db.exec("update journal_tiles set hashes = cast(hashes || x'00' as blob)"));
  expect(findingOf(await home.verify())).toEqual({ code: 'head_edited', seq: undefined });
  await goOn(home);
  await sealAndArchive(home);
  await prune(home);
  expect(findingOf(await home.verify())).toBe('sound');
});

test('entries with another hash than they were signed with are not thrown away', async () => {
  await using home = await attack(template);
  await sealAndArchive(home);
  home.tamper((db) => db.exec('update journal_entries set hash = zeroblob(32) where seq = 5'));
  await expect(prune(home)).rejects.toMatchObject({ code: 'journal.cannot_prune' });
  home.tamper((db) => expect(db.prepare('select pruned from journal_logs').get()).toEqual({ pruned: 0 }));
});

test.each([
  'insert into journal_segments values (1, 500, 600, 5, null)',
  'insert into journal_segments values (1, 5, 9, 10, null)',
  'delete from journal_segments',
  'update journal_segments set next = next + 1',
  'update journal_segments set first = first + 1',
  'update journal_segments set sealed_by = sealed_by + 1',
  'update journal_segments set archive = null',
  "update journal_segments set archive = 'none'",
])('segments that nobody sealed are found: %s', async (edit) => {
  await using home = await attack(template);
  await sealAndArchive(home);
  expect(findingOf(await home.verify())).toBe('sound');
  home.tamper((db) => db.exec(edit));
  expect(findingOf(await home.verify())).toMatchObject({ code: 'head_edited' });
});

test('those that were pruned are no fault, and not having them ends nothing', async () => {
  await using home = await attack(template);
  await sealAndArchive(home);
  await prune(home);
  home.tamper((db) => db.exec('delete from journal_segments'));
  await goOn(home);
  await sealAndArchive(home);
  expect(findingOf(await home.verify())).toBe('sound');
});

const NO_LOG = [2, 0, -1];

test.each(
  NO_LOG.flatMap((log) => [
    `journal_keys select ${log}, 1, ${COPY} from journal_keys limit 1`,
    `journal_nodes values (${log}, 8, 0, zeroblob(32))`,
    `journal_tiles values (${log}, 0, zeroblob(32))`,
    `journal_segments values (${log}, 0, 5, 6, null)`,
    `journal_bodies values ('${'a'.repeat(64)}', ${log}, 5, zeroblob(32), x'00', 'row', 1, 1, null, null)`,
  ]),
)('a row for a log that is to come, or that none can be, is found: %s', async (row) => {
  await using home = await attack(template);
  home.tamper((db) => db.exec(`insert into ${row}`));
  expect(findingOf(await home.verify())).toEqual({ code: 'head_edited', seq: undefined });
});

test.each(['(2 << 40) + 3', '1 << 52', '1 << 60', '-5'])('and so is a checkpoint: %s', async (id) => {
  await using home = await attack(template);
  home.tamper((db) =>
    db.exec(`insert into journal_checkpoints (id, note) select ${id}, note from journal_checkpoints limit 1`),
  );
  expect(findingOf(await home.verify())).toEqual({ code: 'head_edited', seq: undefined });
});

test('a log with another number leaves none between the others for entries that nobody reads', async () => {
  await using home = await attack(template);
  await recover(home);
  expect(findingOf(await home.verify())).toBe('sound');
  home.tamper((db) => {
    db.exec('update journal_logs set number = 3 where number = 2');
    for (const table of ['entries', 'checkpoints'])
      db.exec(`update journal_${table} set id = id + (1 << 40) where log = 2`);
    for (const table of ['keys', 'nodes', 'bodies']) db.exec(`update journal_${table} set log = 3 where log = 2`);
    copyEntry(db, 17, { id: '(2 << 40) + 5' });
  });
  expect(findingOf(await home.verify())).toEqual({ code: 'head_edited', seq: undefined });
});
