import { mkdirSync, mkdtempSync, realpathSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createLocatePath, type LocatedPath } from './locate-path.ts';

let root = '';
let workspace = '';

beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), 'palyra-locate-')));
  workspace = join(root, 'work');
  for (const name of ['work', 'work/folder', 'work/.git', 'keys', 'elsewhere']) mkdirSync(join(root, name));
  for (const name of ['work/a.txt', 'work/.env', 'work/.git/config', 'keys/id', 'elsewhere/b.txt']) {
    writeFileSync(join(root, name), '');
  }
});
afterEach(() => rmSync(root, { recursive: true }));

const locate = (path: string, access: 'read' | 'write' = 'read'): Promise<LocatedPath> =>
  createLocatePath([join(root, 'keys')])({ path: join(root, path), access, workspace });
const at = (path: string, kind: LocatedPath['kind']): LocatedPath => ({ path: join(root, path), kind });

test('what leads through no link is where it says, whether it is there or not', async () => {
  expect([
    await locate('work/a.txt'),
    await locate('work/folder/new/deeper.txt'),
    await locate('work/folder/../a.txt'),
    await locate('work'),
    await locate('work/.env'),
    await locate('work/.git/config', 'write'),
  ]).toEqual([
    at('work/a.txt', 'plain'),
    at('work/folder/new/deeper.txt', 'plain'),
    at('work/a.txt', 'plain'),
    at('work', 'plain'),
    at('work/.env', 'secret'),
    at('work/.git/config', 'protected'),
  ]);
});

test('a link is where it leads to: at its end, on the way, and also when nothing is there', async () => {
  symlinkSync('../elsewhere', join(workspace, 'out'));
  symlinkSync('../elsewhere/new.txt', join(workspace, 'nothing-yet'));
  symlinkSync('.env', join(workspace, 'notes.txt'));
  symlinkSync('../../keys', join(workspace, 'folder/k'));
  expect([
    await locate('work/out'),
    await locate('work/out/b.txt'),
    await locate('work/out/not/there.txt'),
    await locate('work/nothing-yet', 'write'),
    await locate('work/notes.txt'),
    await locate('work/folder/k/id'),
  ]).toEqual([
    at('elsewhere', 'outside'),
    at('elsewhere/b.txt', 'outside'),
    at('elsewhere/not/there.txt', 'outside'),
    at('elsewhere/new.txt', 'outside'),
    at('work/.env', 'secret'),
    at('keys/id', 'never'),
  ]);
});

test('with a link in the place of the workspace nothing lies in it', async () => {
  renameSync(workspace, join(root, 'moved'));
  symlinkSync('keys', workspace);
  expect([await locate('work/id'), await locate('work/new')]).toEqual([
    at('keys/id', 'never'),
    at('keys/new', 'never'),
  ]);
});

test('below a file is nothing, so it is asked about', async () => {
  expect(await locate('work/a.txt/b')).toEqual(at('work/a.txt/b', 'outside'));
});

test('a name that no file can have is nowhere in the workspace, also below what is not there', async () => {
  const names = ['work/a\0b', 'work/new/a\0b', `work/new/${'long/'.repeat(1000)}a`];
  const located = await Promise.all(names.map((name) => locate(name, 'write')));
  expect(located.map(({ kind }) => kind)).toEqual(['outside', 'outside', 'outside']);
});

test('the root of the file system as workspace leads through its links as any other', async () => {
  symlinkSync('keys', join(root, 'link'));
  const question = { path: join(root, 'link/id'), access: 'read', workspace: '/' } as const;
  expect(await createLocatePath([join(root, 'keys')])(question)).toEqual(at('keys/id', 'never'));
});
