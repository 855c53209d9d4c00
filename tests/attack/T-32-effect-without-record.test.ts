// T-32: something happens and there is no record of it, because the journal could not take it and nobody was told.
import { execFileSync } from 'node:child_process';
import { chmod, mkdir, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { openJournalKeys } from '@palyra/journal';
import { program } from '@palyra/storage';
import {
  attestSampleCall,
  createSampleCalls,
  createTemporaryHome,
  type JournalHome,
  type JournalPlace,
  journalFaults,
  keyDirectoryOf,
  openJournalHome,
  SAMPLE_ACTOR,
} from '@palyra/testkit';
import { expect, test } from 'vitest';

const calls = createSampleCalls();
const KEY = (place: JournalPlace) => openJournalKeys(keyDirectoryOf(place)).fileOf('checkpoint');
/** What is wrong with the key is said; either way nothing was written. */
const NOT_RECORDED = { code: expect.stringMatching(/^journal\.(?:not_recorded|key_missing|key_unsafe|invalid_key)$/) };

/** Takes something away that the journal needs, and returns how to give it back. */
type Trouble = (place: JournalPlace & { path: string }) => Promise<() => Promise<unknown>>;

const TROUBLES: readonly (readonly [string, Trouble])[] = [
  ['the database is locked by somebody else', lockDatabase],
  ['the database is gone', ({ path, directory }) => moveAway(directory, [path, `${path}-wal`, `${path}-shm`])],
  ['the write-ahead log is gone', ({ path, directory }) => moveAway(directory, [`${path}-wal`])],
  ['another database is in its place', replaceDatabase],
  ['the key that signs is gone', (place) => moveAway(place.directory, [KEY(place)])],
  ['the key that signs is open to others', openKey],
  ['the key that signs is no key', spoilKey],
];

test.each(TROUBLES)(
  'when %s, nothing is appended, everybody is told, and afterwards it goes on',
  async (_, trouble) => {
    await using home = await createTemporaryHome();
    const path = join(home.path, 'palyra.db');
    const place = { directory: home.path, path, location: { kind: 'sqlite', path } } as const;
    const { journal, ...opened } = await openJournalHome(place, { lockTimeoutMs: 100 });
    const { facts } = await attestSampleCall(journal, calls, { input: 'ls', output: 'before' });

    const giveBack = await trouble(place);
    await expect(journal.append(SAMPLE_ACTOR, [calls.runEnded(1)])).rejects.toMatchObject(NOT_RECORDED);
    const attempts = Array.from({ length: 5 }, () =>
      attestSampleCall(journal, calls, { input: 'ls', output: 'during' }),
    );
    for (const attempt of await Promise.allSettled(attempts)) {
      expect(attempt).toMatchObject({ status: 'rejected', reason: NOT_RECORDED });
    }
    const attest = journal.attest(SAMPLE_ACTOR, {
      facts: { ...facts, call_id: calls.call().call_id },
      drafts: [],
    });
    await expect(attest).rejects.toMatchObject(NOT_RECORDED);
    await giveBack();

    await attestSampleCall(journal, calls, { input: 'ls', output: 'after' });
    await opened[Symbol.asyncDispose]();
    await using again = await openJournalHome(place);
    expect(await wholeCalls(again)).toEqual({ outcomes: 2, attestations: 2, entries: 3 + 2 * 5 });
    expect(await journalFaults(place)).toEqual([]);
  },
);

test('when the writer dies, whoever waits is not told that it was appended, and nothing is half written', async () => {
  await using home = await createTemporaryHome();
  const place: JournalPlace = {
    directory: home.path,
    location: { kind: 'sqlite', path: join(home.path, 'palyra.db') },
  };
  const deadly = `data:text/javascript,export default { name: 'deadly', *run() { process.exit(1); } }`;
  const { journal, database, ...opened } = await openJournalHome(place, {
    programs: [{ name: 'deadly', module: deadly }],
  });
  await attestSampleCall(journal, calls, { input: 'ls', output: 'before' });
  const [killed, ...appends] = await Promise.allSettled([
    database.commit({ steps: [program('deadly', {})] }),
    ...Array.from({ length: 10 }, () => journal.append(SAMPLE_ACTOR, [calls.runEnded(1)])),
  ]);
  expect(killed.status).toBe('rejected');
  for (const append of appends) {
    expect(append).toMatchObject({
      status: 'rejected',
      reason: { code: expect.stringMatching(/not_recorded|unknown/) },
    });
  }
  await expect(journal.append(SAMPLE_ACTOR, [calls.runEnded(1)])).rejects.toMatchObject(NOT_RECORDED);
  await opened[Symbol.asyncDispose]();

  await using again = await openJournalHome(place);
  expect(await wholeCalls(again)).toEqual({ outcomes: 1, attestations: 1, entries: 3 + 5 });
  expect(await journalFaults(place)).toEqual([]);
});

const mayMount = process.geteuid?.() === 0;

test.skipIf(!mayMount)('on a full disk no outcome is recorded without its attestation [needs: root]', async () => {
  await using home = await createTemporaryHome();
  const disk = join(home.path, 'disk');
  await mkdir(disk);
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=4m,mode=0700', 'tmpfs', disk]);
  try {
    await writeFile(join(disk, 'ballast'), Buffer.alloc(1024 * 1024));
    const place: JournalPlace = { directory: disk, location: { kind: 'sqlite', path: join(disk, 'palyra.db') } };
    await using opened = await openJournalHome(place);
    let attested = 0;
    const fill = async () => {
      for (;;) {
        await attestSampleCall(opened.journal, calls, { input: 'ls', output: 'x'.repeat(40 * 1024) });
        attested += 1;
      }
    };
    for (const filling of await Promise.allSettled([fill(), fill(), fill()])) {
      expect(filling).toMatchObject({ status: 'rejected', reason: NOT_RECORDED });
    }
    await rm(join(disk, 'ballast'));
    expect(await wholeCalls(opened)).toMatchObject({ outcomes: attested, attestations: attested });
    await attestSampleCall(opened.journal, calls, { input: 'ls', output: 'after' });
    expect(await journalFaults(place)).toEqual([]);
  } finally {
    execFileSync('umount', [disk]);
  }
});

async function wholeCalls({ journal }: JournalHome) {
  const { entries } = await journal.query({ limit: 1000 });
  const count = (kind: string) => entries.filter((entry) => entry.kind === kind).length;
  return { outcomes: count('outcome'), attestations: count('attestation'), entries: entries.length };
}

function lockDatabase({ path }: { path: string }): Promise<() => Promise<void>> {
  const other = new DatabaseSync(path, { timeout: 5_000 });
  other.exec('begin immediate');
  return Promise.resolve(async () => {
    other.exec('rollback');
    other.close();
  });
}

async function moveAway(directory: string, paths: readonly string[]): Promise<() => Promise<void>> {
  const elsewhere = join(directory, 'elsewhere');
  await mkdir(elsewhere);
  const moved = paths.map((path, index) => [path, join(elsewhere, `${index}`)] as const);
  for (const [from, to] of moved) await rename(from, to);
  return async () => {
    for (const [from, to] of moved) await rename(to, from);
    expect(await readdir(elsewhere)).toEqual([]);
  };
}

async function replaceDatabase(place: JournalPlace & { path: string }): Promise<() => Promise<void>> {
  const { path } = place;
  const giveBack = await moveAway(place.directory, [path, `${path}-wal`, `${path}-shm`]);
  const other = new DatabaseSync(place.path, { timeout: 5_000 });
  other.exec('create table journal_logs (number integer)');
  other.close();
  await chmod(place.path, 0o600);
  return giveBack;
}

async function openKey(place: JournalPlace): Promise<() => Promise<void>> {
  await chmod(KEY(place), 0o644);
  return () => chmod(KEY(place), 0o600);
}

async function spoilKey(place: JournalPlace): Promise<() => Promise<void>> {
  const giveBack = await moveAway(place.directory, [KEY(place)]);
  await writeFile(KEY(place), 'not a key', { mode: 0o600 });
  return giveBack;
}
