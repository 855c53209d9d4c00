import { execFileSync } from 'node:child_process';
import { mkdirSync, renameSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { secureRandomBytes } from '@palyra/primitives';
import { createTemporaryHome } from '@palyra/testkit';
import { expect, test } from 'vitest';
import { type Body, type BodySource, createBodyPreparer } from './prepare-body.ts';
import { openBodyFiles, type StoredBodyRow } from './read-body.ts';

async function openPlace() {
  const home = await createTemporaryHome();
  const directory = join(home.path, 'bodies');
  const preparer = createBodyPreparer({ directory, random: secureRandomBytes, inlineBytes: 100 });
  return {
    directory,
    files: openBodyFiles(directory),
    put: async (source: BodySource) => rowOf(await preparer.prepare(source)),
    pathOf: ({ commitment }: StoredBodyRow) => join(directory, commitment.slice(0, 2), commitment),
    [Symbol.asyncDispose]: () => home[Symbol.asyncDispose](),
  };
}

function rowOf({ commitment, salt, bytes, totalBytes, content }: Body): StoredBodyRow {
  const place = content === 'file' ? { place: 'file', body: null } : { place: 'row', body: content };
  return { commitment, salt, bytes, total_bytes: totalBytes, ...place };
}

const CORRUPT = { code: 'journal.body_corrupt' };

test.each([0, 1, 100, 101, 1024 * 1024, 3_000_000])('%s bytes come back as they were', async (size) => {
  await using place = await openPlace();
  const bytes = new Uint8Array(size).map((_, index) => index % 253);
  const row = await place.put(bytes);
  expect(row.place).toBe(size > 100 ? 'file' : 'row');
  expect(Buffer.compare(await place.files.read(row), bytes)).toBe(0);

  const pieces: Uint8Array[] = [];
  for await (const piece of place.files.stream(row)) pieces.push(piece);
  expect(Buffer.concat(pieces).equals(bytes)).toBe(true);
  expect(Math.max(0, ...pieces.map((piece) => piece.length))).toBeLessThanOrEqual(1024 * 1024);
});

test('an erased body is told apart from a corrupt one', async () => {
  await using place = await openPlace();
  const row = await place.put('small');
  await expect(place.files.read({ ...row, salt: null, body: null, place: 'erased' })).rejects.toMatchObject({
    code: 'journal.body_erased',
  });
});

const FORGERIES: Record<string, (other: StoredBodyRow) => Partial<StoredBodyRow>> = {
  'the body of another': ({ body }) => ({ body }),
  'no body': () => ({ body: null }),
  'an empty body': () => ({ body: new Uint8Array(0), bytes: 0 }),
  'another length': () => ({ bytes: 4 }),
  'the salt of another': ({ salt }) => ({ salt }),
  'no salt': () => ({ salt: null }),
  'the commitment of another': ({ commitment }) => ({ commitment }),
  'an unknown place': () => ({ place: 'nowhere' }),
  'a file as its place': () => ({ place: 'file' }),
};

test.each(Object.keys(FORGERIES))('a row with %s is corrupt', async (name) => {
  await using place = await openPlace();
  const row = await place.put('small');
  const other = await place.put('other');
  const forged = { ...row, ...FORGERIES[name]?.(other) };
  expect(forged).not.toEqual(row);
  await expect(place.files.read(forged)).rejects.toMatchObject(CORRUPT);
});

test('bytes moved between salt and body are noticed, although the commitment stays', async () => {
  await using place = await openPlace();
  const row = await place.put('rm -rf /');
  const [salt, body] = [row.salt ?? new Uint8Array(), row.body ?? new Uint8Array()];
  const longer = { ...row, salt: Buffer.concat([salt, body.subarray(0, 4)]), body: body.subarray(4), bytes: 4 };
  const shorter = { ...row, salt: salt.subarray(0, 31), body: Buffer.concat([salt.subarray(31), body]), bytes: 9 };
  await expect(place.files.read(longer)).rejects.toMatchObject(CORRUPT);
  await expect(place.files.read(shorter)).rejects.toMatchObject(CORRUPT);
});

const ATTACKS: Record<string, (path: string, otherPath: string) => void> = {
  changed: (path) => writeFileSync(path, `${'a'.repeat(999)}b`),
  cut: (path) => truncateSync(path, 999),
  'longer than any memory': (path) => truncateSync(path, 1_000_000_000_000),
  swapped: (path, otherPath) => renameSync(otherPath, path),
  'a link': (path) => {
    renameSync(path, `${path}.moved`);
    symlinkSync(`${path}.moved`, path);
  },
  'a pipe': (path) => {
    rmSync(path);
    execFileSync('mkfifo', [path]);
  },
  'a directory': (path) => {
    rmSync(path);
    mkdirSync(path);
  },
  gone: (path) => rmSync(path),
  'gone with its directory': (path) => rmSync(dirname(path), { recursive: true }),
};

test.each(Object.keys(ATTACKS))('a file that is %s is corrupt', async (name) => {
  await using place = await openPlace();
  const row = await place.put('a'.repeat(1000));
  const other = await place.put('b'.repeat(1000));
  expect(await place.files.read(row)).toHaveLength(1000);
  ATTACKS[name]?.(place.pathOf(row), place.pathOf(other));
  await expect(place.files.read(row)).rejects.toMatchObject(CORRUPT);
});

test('a stream of changed bytes ends with an error', async () => {
  await using place = await openPlace();
  const row = await place.put('a'.repeat(1000));
  writeFileSync(place.pathOf(row), 'b'.repeat(1000));
  const reading = async () => {
    for await (const piece of place.files.stream(row)) expect(piece).toHaveLength(1000);
  };
  await expect(reading()).rejects.toMatchObject(CORRUPT);
});

test('a name that leads elsewhere is not followed', async () => {
  await using place = await openPlace();
  const row = await place.put('a'.repeat(1000));
  writeFileSync(join(place.directory, 'secret'), 'x'.repeat(1000));
  for (const commitment of ['../secret', '', row.commitment.toUpperCase(), `${row.commitment}\n`]) {
    await expect(place.files.read({ ...row, commitment })).rejects.toMatchObject(CORRUPT);
  }
});

test('a node without the directory says that it cannot look, not that the body is corrupt', async () => {
  await using place = await openPlace();
  const elsewhere = openBodyFiles(undefined);
  await expect(elsewhere.read(await place.put('a'.repeat(1000)))).rejects.toMatchObject({
    code: 'journal.body_unreadable',
  });
  expect(await elsewhere.read(await place.put('small'))).toEqual(new TextEncoder().encode('small'));
});
