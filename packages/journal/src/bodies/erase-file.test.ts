import { existsSync, linkSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { secureRandomBytes } from '@palyra/primitives';
import { createTemporaryHome } from '@palyra/testkit';
import { expect, test } from 'vitest';
import { eraseBodyFile } from './erase-file.ts';
import { createBodyPreparer } from './prepare-body.ts';

async function putBody(home: string, size: number) {
  const directory = join(home, 'bodies');
  const preparer = createBodyPreparer({ directory, random: secureRandomBytes, inlineBytes: 0 });
  const { commitment } = await preparer.prepare(new Uint8Array(size).fill(7));
  return { directory, commitment, path: join(directory, commitment.slice(0, 2), commitment) };
}

test.each([1, 64 * 1024, 64 * 1024 + 1, 1_000_000])(
  'of %s bytes only zeros stay, whoever else holds the file',
  async (size) => {
    await using home = await createTemporaryHome();
    const { directory, commitment, path } = await putBody(home.path, size);
    const secondName = join(home.path, 'second-name');
    linkSync(path, secondName);
    expect(readFileSync(secondName)).toEqual(Buffer.alloc(size, 7));

    await eraseBodyFile(directory, commitment);
    expect(existsSync(path)).toBe(false);
    expect(readFileSync(secondName).equals(Buffer.alloc(size))).toBe(true);
  },
);

test('a body that is gone already counts as erased, and two may erase it at once', async () => {
  await using home = await createTemporaryHome();
  const { directory, commitment, path } = await putBody(home.path, 1000);
  await Promise.all([eraseBodyFile(directory, commitment), eraseBodyFile(directory, commitment)]);
  await eraseBodyFile(directory, commitment);
  expect(existsSync(path)).toBe(false);
  await eraseBodyFile(join(home.path, 'never-made'), commitment);
});

test('what is not the body is not overwritten: a link, a directory, a name that leads elsewhere', async () => {
  await using home = await createTemporaryHome();
  const { directory, commitment, path } = await putBody(home.path, 1000);
  const precious = join(home.path, 'precious');
  writeFileSync(precious, 'precious');
  rmSync(path);
  symlinkSync(precious, path);
  await expect(eraseBodyFile(directory, commitment)).rejects.toMatchObject({
    code: 'journal.not_erased',
    cause: expect.objectContaining({ code: 'ELOOP' }),
  });
  rmSync(path);
  mkdirSync(path);
  await expect(eraseBodyFile(directory, commitment)).rejects.toMatchObject({ code: 'journal.not_erased' });
  await expect(async () => eraseBodyFile(directory, '../../precious')).rejects.toMatchObject({
    code: 'journal.body_corrupt',
  });
  expect(readFileSync(precious, 'utf8')).toBe('precious');
});
