import { copyFile, link, mkdir, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createTemporaryHome } from '@palyra/testkit';
import { expect, onTestFinished, test } from 'vitest';
import { createPlaceCheck } from './files-in-place.ts';

async function watched(by: 'its own name' | 'a symbolic link') {
  const home = await createTemporaryHome();
  const directory = join(home.path, 'real');
  await mkdir(directory);
  await symlink(directory, join(home.path, 'way'));
  const file = join(directory, 'x.db');
  await writeFile(file, 'database');
  const path = by === 'its own name' ? file : join(home.path, 'way', 'x.db');
  const place = createPlaceCheck(path);
  onTestFinished(async () => {
    place.close();
    await home[Symbol.asyncDispose]();
  });
  return { home, file, place, log: `${file}-wal`, away: join(directory, 'away') };
}

const GONE = expect.objectContaining({ code: 'storage.unavailable' });

test.each(['its own name', 'a symbolic link'] as const)(
  'files found by %s are noticed when they go, and when they are back',
  async (by) => {
    const { file, log, away, place } = await watched(by);
    place.requireInPlace();
    await writeFile(log, 'log');
    for (const lost of [log, file]) {
      place.requireInPlace();
      await rename(lost, away);
      expect(place.requireInPlace).toThrow(GONE);
      await copyFile(away, lost);
      expect(place.requireInPlace).toThrow(GONE);
      await rename(away, lost);
      place.requireInPlace();
    }
  },
);

test('a log that was removed, and is given its name again by another of its names, is the same', async () => {
  const { log, away, place } = await watched('its own name');
  await writeFile(log, 'log');
  place.requireInPlace();
  await link(log, away);
  await rm(log);
  expect(place.requireInPlace).toThrow(GONE);
  await rename(away, log);
  place.requireInPlace();
});

test('a link on the way that leads elsewhere leads to other files', async () => {
  const { home, file, log, place } = await watched('a symbolic link');
  await writeFile(log, 'log');
  place.requireInPlace();
  const elsewhere = join(home.path, 'elsewhere');
  await mkdir(elsewhere);
  await link(file, join(elsewhere, 'x.db'));
  await writeFile(join(elsewhere, 'x.db-wal'), 'log');
  await rm(join(home.path, 'way'));
  await symlink(elsewhere, join(home.path, 'way'));
  expect(place.requireInPlace).toThrow(GONE);
});
