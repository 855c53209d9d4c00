import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { copyTree } from './copy-tree.ts';
import { createTemporaryHome } from './temporary-home.ts';

test('a copy has the modes and times of what was named, to less than a second, and nothing that is left out', async () => {
  await using home = await createTemporaryHome();
  const [from, to] = [join(home.path, 'from'), join(home.path, 'to')];
  for (const directory of ['a/b/dist', 'dist', 'c']) mkdirSync(join(from, directory), { recursive: true });
  for (const file of ['a/b/run.sh', 'a/b/dist/x', 'dist/x', 'c/other']) writeFileSync(join(from, file), file);
  const script = join(from, 'a/b/run.sh');
  chmodSync(script, 0o750);
  utimesSync(script, 1_700_000_000.125, 1_700_000_000.125);
  mkdirSync(to);

  await copyTree(from, to, { paths: ['a', 'dist'], without: ['dist'] });
  expect(readdirSync(to, { recursive: true, encoding: 'utf8' }).toSorted()).toEqual(['a', 'a/b', 'a/b/run.sh']);
  const { mode, mtimeMs } = statSync(join(to, 'a/b/run.sh'));
  expect({ mode: mode & 0o777, mtimeMs }).toEqual({ mode: 0o750, mtimeMs: 1_700_000_000_125 });
  expect(readFileSync(join(to, 'a/b/run.sh'), 'utf8')).toBe('a/b/run.sh');
});

test('more than a pipe holds arrives whole', async () => {
  await using home = await createTemporaryHome();
  const [from, to] = [join(home.path, 'from'), join(home.path, 'to')];
  for (const directory of [from, to]) mkdirSync(directory);
  const bytes = Buffer.alloc(3_000_000, 'palyra');
  writeFileSync(join(from, 'large'), bytes);
  await copyTree(from, to, { paths: ['.'], without: [] });
  expect(readFileSync(join(to, 'large')).equals(bytes)).toBe(true);
});

test.for(['from', 'to'] as const)('it says so when %s is not there', async (missing) => {
  await using home = await createTemporaryHome();
  const [from, to] = [join(home.path, 'from'), join(home.path, 'to')];
  for (const directory of missing === 'from' ? [to] : [from]) mkdirSync(directory);
  await expect(copyTree(from, to, { paths: ['.'], without: [] })).rejects.toThrow('The tree was not copied');
  expect(existsSync(missing === 'from' ? from : to)).toBe(false);
});
