import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { addModule, listModules, readModule, removeModule } from './module-files.ts';

let directory = '';
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'palyra-modules-'));
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

const BYTES = Uint8Array.of(0, 0x61, 0x73, 0x6d, 1, 0, 0, 0);
const echo = { name: 'echo', bytes: BYTES, grants: { kv: true, files: '/data' }, limits: { fuel: 5 } };

test('what is added is read, listed and removed', async () => {
  await addModule(directory, echo, { replace: false });
  const module = await readModule(directory, 'echo').catch((error: unknown) => error);
  // It grants files, and there are none: the operator is told before an agent is.
  expect(module).toBeInstanceOf(Error);
  await addModule(directory, { ...echo, grants: { kv: true } }, { replace: true });
  expect(await readModule(directory, 'echo')).toMatchObject({
    name: 'echo',
    manifest: { grants: { kv: true, http: [], scratch: [] }, limits: { fuel: 5 } },
    files: [],
  });
  expect(await listModules(directory)).toEqual(['echo']);
  await removeModule(directory, 'echo');
  await expect(readModule(directory, 'echo')).rejects.toMatchObject({ code: 'config.unreadable' });
});

test('other bytes, other people’s files, names that lead elsewhere and unknown grants are refused', async () => {
  await addModule(directory, { ...echo, grants: {} }, { replace: false });
  const refused = (code: string) => expect.objectContaining({ code });
  await expect(addModule(directory, echo, { replace: false })).rejects.toEqual(refused('config.file_exists'));
  await expect(readModule(directory, '../echo')).rejects.toEqual(refused('config.invalid_value'));
  const manifest = join(directory, 'echo', 'module.json');
  const text = readFileSync(manifest, 'utf8');
  writeFileSync(manifest, text.replace('"kv": false', '"kv": false, "everything": true'));
  await expect(readModule(directory, 'echo')).rejects.toEqual(refused('config.invalid_value'));
  writeFileSync(manifest, text);
  chmodSync(manifest, 0o666);
  await expect(readModule(directory, 'echo')).rejects.toEqual(refused('config.unsafe_permissions'));
  chmodSync(manifest, 0o600);
  writeFileSync(join(directory, 'echo', 'module.wasm'), 'other');
  await expect(readModule(directory, 'echo')).rejects.toEqual(refused('config.invalid_value'));
});
