// T-54: what was erased is guessed from its commitment, or found in free pages, the write-ahead log or a file.
import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { Body, Journal } from '@palyra/journal';
import {
  createSampleCalls,
  createTemporaryHome,
  type JournalPlace,
  journalFaults,
  openJournalHome,
  SAMPLE_ACTOR,
} from '@palyra/testkit';
import { expect, test } from 'vitest';

const calls = createSampleCalls();
const SECRET = 'the patient is called Ada';
/** In its row among others, in a row that takes several pages, and in a file. */
const SIZES = [
  ['a few words', SECRET],
  ['some pages', SECRET.repeat(1000)],
  ['a file', SECRET.repeat(5000)],
] as const;

test.each(SIZES)('an erased body of %s is in none of the home’s files', async (_, text) => {
  await using home = await createTemporaryHome();
  const place = placeIn(home.path);
  const { journal, ...opened } = await openJournalHome(place);
  const body = await record(journal, text);
  const beside = await record(journal, 'words that stay');
  expect(await findIn(home.path, SECRET)).not.toEqual([]);

  await journal.erase(SAMPLE_ACTOR, body.commitment, 'request');
  expect(await findIn(home.path, SECRET)).toEqual([]);
  expect(await findIn(home.path, Buffer.from(body.salt).toString('latin1'))).toEqual([]);

  const { entries } = await journal.query({ kinds: ['body.erased'] });
  expect(entries.map(({ data }) => data)).toEqual([{ body: body.commitment, reason: 'request' }]);
  expect(Buffer.from((await journal.bodies.read(beside.commitment)).bytes).toString()).toBe('words that stay');
  expect(await journalFaults(place)).toEqual([]);
  await opened[Symbol.asyncDispose]();
});

test('the search finds what a database without secure_delete, or without a scrub, leaves behind', async () => {
  await using home = await createTemporaryHome();
  for (const [name, pragma] of [
    ['careless', 'secure_delete = off'],
    ['unscrubbed', 'secure_delete = on'],
  ] as const) {
    const path = join(home.path, `${name}.db`);
    const database = new DatabaseSync(path);
    for (const setting of ['journal_mode = wal', pragma]) database.exec(`pragma ${setting}`);
    database.exec('create table bodies (id text primary key, body blob)');
    database.prepare('insert into bodies values (?, ?)').run('x', Buffer.from(SECRET.repeat(1000)));
    if (name === 'careless') database.exec('pragma wal_checkpoint(truncate)');
    database.exec('update bodies set body = null');
    if (name === 'careless') database.exec('pragma wal_checkpoint(truncate)');
    expect((await findIn(home.path, SECRET)).map((file) => file.replace(home.path, ''))).toContain(
      name === 'careless' ? '/careless.db' : '/unscrubbed.db-wal',
    );
    database.close();
  }
});

test('equal bodies have different commitments, and a dictionary does not tell which word was erased', async () => {
  await using home = await createTemporaryHome();
  const place = placeIn(home.path);
  const { journal, ...opened } = await openJournalHome(place);
  const [yes, again] = [await record(journal, 'yes'), await record(journal, 'yes')];
  expect(yes.commitment).not.toBe(again.commitment);
  await journal.erase(SAMPLE_ACTOR, yes.commitment, 'request');

  // Everything that an attacker with the whole home still has, as a salt, before or behind each word.
  const publicData = await leftOverData(place, journal);
  expect(publicData.length).toBeGreaterThan(20);
  const digest = (...parts: readonly Uint8Array[]) => createHash('sha256').update(Buffer.concat(parts)).digest('hex');
  const guesses = ['yes', 'no', 'maybe'].flatMap((word) =>
    publicData.flatMap((salt) => [digest(salt, Buffer.from(word)), digest(Buffer.from(word), salt)]),
  );
  expect(guesses).not.toContain(yes.commitment);
  // The method is sound: with the salt that was kept, the same search finds the body that was not erased.
  expect(digest(again.salt, Buffer.from('yes'))).toBe(again.commitment);
  await opened[Symbol.asyncDispose]();
});

async function record(journal: Journal, text: string): Promise<Body> {
  const input = await journal.bodies.prepare(text);
  await journal.append(SAMPLE_ACTOR, [{ kind: 'proposal', data: { ...calls.call(), input } }]);
  return input;
}

function placeIn(directory: string): JournalPlace {
  return { directory, location: { kind: 'sqlite', path: join(directory, 'palyra.db') } };
}

/** Files below the directory whose raw bytes hold the text. */
async function findIn(directory: string, text: string): Promise<readonly string[]> {
  const found: string[] = [];
  for (const entry of await readdir(directory, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    if (entry.isFile() && (await readFile(path, 'latin1')).includes(text)) found.push(path);
  }
  return found;
}

async function leftOverData(place: JournalPlace, journal: Journal): Promise<readonly Uint8Array[]> {
  const { entries } = await journal.query({ limit: 1000 });
  const texts = entries.flatMap(({ seq, time, hash, data, origin }) => [
    `${seq}`,
    `${time}`,
    hash,
    origin,
    ...Object.values(data as Record<string, unknown>).map(String),
  ]);
  const files = await readdir(place.directory, { recursive: true });
  const all = [...texts, ...files, ''];
  return all.flatMap((text) => [Buffer.from(text), Buffer.from(text, 'hex')]);
}
