import { createHash } from 'node:crypto';
import {
  mkdirSync,
  mkdtempSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createBoundFileReader } from './open-bound-file.ts';

let place: string;
beforeEach(() => {
  place = realpathSync(mkdtempSync(join(tmpdir(), 'palyra-bound-')));
});
afterEach(() => rmSync(place, { recursive: true }));

const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');
const put = (name: string, text: string) => {
  writeFileSync(join(place, name), text);
  return join(place, name);
};

test('hashes once, and anew when anything of the file changed, its time set back or not', async () => {
  const reader = createBoundFileReader();
  const path = put('x', 'one');
  utimesSync(path, 1000, 1000);
  const before = statSync(path, { bigint: true });
  expect(await reader.open(path)).toMatchObject({ kind: 'open', file: { sha256: sha256('one') } });
  // Same device, inode, size and modification time: only the change time tells.
  do {
    writeFileSync(path, 'two');
    utimesSync(path, 1000, 1000);
    // Clocks of file systems are coarse.
  } while (statSync(path, { bigint: true }).ctimeNs === before.ctimeNs);
  expect(statSync(path, { bigint: true })).toMatchObject({ ino: before.ino, size: 3n, mtimeNs: before.mtimeNs });
  expect(await reader.open(path)).toMatchObject({ kind: 'open', file: { sha256: sha256('two') } });
});

test('keeps the very bytes that it hashed', async () => {
  const opening = await createBoundFileReader().open(put('x', '#!/bin/sh\n'), { most: 100 });
  expect(opening).toMatchObject({ kind: 'open', file: { sha256: sha256('#!/bin/sh\n') } });
  const content = opening.kind === 'open' ? opening.file.content : undefined;
  expect(Buffer.from(content ?? []).toString()).toBe('#!/bin/sh\n');
});

test('refuses what is larger than may be kept', async () => {
  const path = put('x', 'four');
  expect(await createBoundFileReader().open(path, { most: 3 })).toEqual({ kind: 'closed', why: 'too_large' });
  expect(await createBoundFileReader().open(path, { most: 4 })).toMatchObject({ kind: 'open' });
});

test('reads nothing through a link, of the file or of a directory above, however it came there', async () => {
  const reader = createBoundFileReader();
  mkdirSync(join(place, 'inner'));
  const path = put('inner/x', 'secret');
  renameSync(join(place, 'inner'), join(place, 'elsewhere'));
  symlinkSync('elsewhere', join(place, 'inner'));
  symlinkSync('elsewhere/x', join(place, 'x'));
  const closed = { kind: 'closed', why: 'unreadable' };
  expect(await reader.open(path)).toEqual(closed);
  expect(await reader.open(path, { most: 100 })).toEqual(closed);
  expect(await reader.open(join(place, 'x'))).toEqual(closed);
  expect(reader.list(join(place, 'inner'))).toEqual([]);
  expect(reader.list(join(place, 'elsewhere'))).toEqual(['x']);
});

test('what is no file has no bytes', async () => {
  const closed = { kind: 'closed', why: 'unreadable' };
  expect(await createBoundFileReader().open(place)).toEqual(closed);
  expect(await createBoundFileReader().open('/dev/zero', { most: 10 })).toEqual(closed);
  expect(await createBoundFileReader().open(join(place, 'none'))).toEqual(closed);
});
