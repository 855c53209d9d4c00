/** T-26: a module without a meter, put where metered modules are kept. */
import { randomBytes } from 'node:crypto';
import { chmod, readdir, readFile, rename, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createTemporaryHome } from '@palyra/testkit';
import { createInstrumentedCache, instrument } from '@palyra/wasm';
import { expect, test } from 'vitest';
import { assembleText } from '../metered-guest.ts';

const GUEST = '(module (func (export "f") (loop (br_if 0 (i32.const 0)))))';

async function openPlace() {
  const home = await createTemporaryHome();
  const directory = home.path;
  const key = randomBytes(32);
  let made = 0;
  const open = (secret: Uint8Array = key) =>
    createInstrumentedCache({
      directory,
      key: secret,
      instrument: (bytes, limits) => {
        made += 1;
        return instrument(bytes, limits);
      },
    });
  const bytes = await assembleText(GUEST);
  const honest = instrument(bytes);
  if (honest.kind === 'refused') throw new Error(honest.reason);
  await open().instrument(bytes);
  const [name = ''] = await readdir(directory);
  const path = join(directory, name);
  const close = () => home[Symbol.asyncDispose]();
  return { directory, path, open, bytes, honest, made: () => made, [Symbol.asyncDispose]: close };
}

test('what was made once is taken from the cache, from a file of mode 0600', async () => {
  await using place = await openPlace();
  const { open, path, bytes, honest, made } = place;
  expect(await open().instrument(bytes)).toEqual(honest);
  expect({ made: made(), mode: (await stat(path)).mode & 0o777 }).toEqual({ made: 1, mode: 0o600 });
});

test.each([
  ['the raw module', async (path: string, raw: Uint8Array) => writeFile(path, raw)],
  [
    'the raw module under the old seal',
    async (path: string, raw: Uint8Array) => {
      const old = await readFile(path);
      await writeFile(path, Buffer.concat([old.subarray(0, 32), Buffer.alloc(9), raw]));
    },
  ],
  [
    'one changed byte',
    async (path: string) => {
      const content = await readFile(path);
      content[content.length - 3] = (content.at(-3) ?? 0) ^ 1;
      await writeFile(path, content);
    },
  ],
  ['nothing', async (path: string) => writeFile(path, '')],
  ['half of it', async (path: string) => writeFile(path, (await readFile(path)).subarray(0, 60))],
])('%s in place of a metered module is not run: it is made anew', async (_what, poison) => {
  await using place = await openPlace();
  const { open, path, bytes, honest, made } = place;
  await poison(path, bytes);
  expect(await open().instrument(bytes)).toEqual(honest);
  expect(made()).toBe(2);
});

test('what another key has sealed is not taken', async () => {
  await using place = await openPlace();
  const { open, bytes, honest, made } = place;
  expect(await open(randomBytes(32)).instrument(bytes)).toEqual(honest);
  expect(made()).toBe(2);
});

test('a sealed module does not stand in for another one, nor for other limits', async () => {
  await using place = await openPlace();
  const { open, directory, path, bytes, made } = place;
  const other = await assembleText('(module (func (export "f") (loop (br 0))) (memory 1))');
  const right = instrument(other, { memoryPages: 7 });
  await open().instrument(other, { memoryPages: 7 });
  const names = (await readdir(directory)).filter((name) => !path.endsWith(name));
  await rename(path, join(directory, names[0] ?? ''));
  expect(await open().instrument(other, { memoryPages: 7 })).toEqual(right);
  expect(made()).toBe(3);
  expect(await open().instrument(bytes, { memoryPages: 8 })).toMatchObject({ kind: 'instrumented' });
  expect(made()).toBe(4);
});

test('a link in place of the file is not followed', async () => {
  await using place = await openPlace();
  const { open, directory, path, bytes, honest, made } = place;
  await rename(path, join(directory, 'elsewhere'));
  await symlink(join(directory, 'elsewhere'), path);
  expect(await open().instrument(bytes)).toEqual(honest);
  expect(made()).toBe(2);
});

test('a directory that others may write to is refused', async () => {
  await using place = await openPlace();
  const { open, directory, bytes } = place;
  await chmod(directory, 0o777);
  await expect(open().instrument(bytes)).rejects.toMatchObject({ code: 'wasm.cache_unusable' });
});

test('a refusal is not kept', async () => {
  await using place = await openPlace();
  const { open, directory } = place;
  const before = (await readdir(directory)).length;
  expect(await open().instrument(new Uint8Array([1, 2, 3]))).toMatchObject({ kind: 'refused', code: 'wasm.malformed' });
  expect((await readdir(directory)).length).toBe(before);
});
