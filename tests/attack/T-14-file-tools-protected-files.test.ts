// T-15: something is planted that runs later, or a secret is read, by another name of the file: T-14's links, case, characters
// that are not seen, a rename, an error that quotes, a search, an approval of something else.
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type FileToolsPlace, makeFileToolsPlace } from '../integration/file-tools-place.ts';
import { uniqueMark } from './sandboxed.ts';

let place: FileToolsPlace;
const secret = uniqueMark();

beforeAll(async () => {
  place = await makeFileToolsPlace();
  place.put('.git/hooks/pre-commit', 'original\n', 0o755);
  place.put('.git/config', '[core]\n');
  place.put('.env', `TOKEN=${secret}\n`);
  place.put('notes.txt', 'notes\n');
  mkdirSync(join(place.workspace, 'links'));
  for (const [name, target] of [
    ['hook', '../.git/hooks/pre-commit'],
    ['new-hook', '../.git/hooks/post-commit'],
    ['git', '../.git'],
    ['absolute', join(place.workspace, '.git/hooks')],
    ['env', '../.env'],
    ['twice', 'env'],
  ] as const)
    symlinkSync(target, join(place.workspace, 'links', name));
});
afterAll(async () => {
  await place.close();
});

const create = (path: string) => `--- /dev/null\n+++ b/${path}\n@@ -0,0 +1 @@\n+planted\n`;
const protectedAnswer = { kind: 'failed', code: 'file.protected', effect: 'none' };

function expectUntouched(): void {
  expect(readFileSync(join(place.workspace, '.git/hooks/pre-commit'), 'utf8')).toBe('original\n');
  expect(readdirSync(join(place.workspace, '.git/hooks'))).toEqual(['pre-commit']);
  expect(readFileSync(join(place.workspace, '.env'), 'utf8')).toBe(`TOKEN=${secret}\n`);
}

describe('nothing is planted without an approval', () => {
  test.each([
    '.git/hooks/pre-commit',
    '.git/hooks/new',
    '.git/config',
    './/.git/./hooks/../config',
    'links/hook',
    'links/new-hook',
    'links/git/config',
    'links/git/hooks/new',
    'links/absolute/new',
    '.GIT/hooks/new',
    '.g\u200Bit/hooks/new',
    '.git./hooks/new',
    'nested/.git/hooks/pre-commit',
    'AGENTS.md',
    'sub/claude.MD',
    '.Claude/settings.json',
    '.vscode/tasks.json',
    '.github/workflows/x.yml',
    '.bashrc',
    '.mcp.json',
  ])('%s', async (path) => {
    expect(await place.run('write', { path, content: 'planted' })).toMatchObject(protectedAnswer);
    expect(await place.run('apply_patch', { patch: create(path) })).toMatchObject({
      code: expect.stringMatching(/^file\.(?:protected|exists|not_regular)$/),
      effect: 'none',
    });
    expectUntouched();
  });

  test('nor as one of many files: then none of them is written', async () => {
    const patch = `${create('innocent')}${create('links/git/hooks/new')}`;
    expect(await place.run('apply_patch', { patch })).toMatchObject({
      ...protectedAnswer,
      protectedFiles: [{ path: '.git/hooks/new', reason: 'protected' }],
    });
    expect(existsSync(join(place.workspace, 'innocent'))).toBe(false);
    expectUntouched();
  });

  test('nor by moving a file there, nor by deleting one', async () => {
    const move =
      'diff --git a/notes.txt b/.git/hooks/new\nsimilarity index 100%\nrename from notes.txt\nrename to .git/hooks/new\n';
    const removal = '--- a/.git/hooks/pre-commit\n+++ /dev/null\n@@ -1 +0,0 @@\n-original\n';
    for (const patch of [move, removal])
      expect(await place.run('apply_patch', { patch })).toMatchObject(protectedAnswer);
    expectUntouched();
  });
});

describe('a secret is not read without an approval', () => {
  test.each(['.env', '.ENV', 'links/env', 'links/twice', 'links/../.env'])('as %s', async (path) => {
    const result = await place.run('read', { path });
    // Where case matters, another spelling is another file, and not there.
    expect(result).toMatchObject({ code: expect.stringMatching(/^file\.(?:protected|not_found)$/) });
    expect(JSON.stringify(result)).not.toContain(secret);
  });

  test('by a patch that does not fit, whose error quotes what is there', async () => {
    const patch = '--- a/.env\n+++ b/.env\n@@ -1 +1 @@\n-guess\n+x\n';
    const result = await place.run('apply_patch', { patch });
    expect(result).toMatchObject(protectedAnswer);
    expect(JSON.stringify(result)).not.toContain(secret);
  });

  test('by a search, through its directory or by name', async () => {
    for (const input of [
      { hidden: true },
      { path: '.env' },
      { path: 'links/env' },
      { hidden: true, globs: ['.env'] },
    ]) {
      const result = await place.run('search', { pattern: 'TOKEN', ignore_files: false, ...input });
      expect(result).toMatchObject({ output: { matches: [], skipped: { protected: 1 } } });
      expect(JSON.stringify(result)).not.toContain(secret);
    }
  });

  test('by giving it another name first', async () => {
    const patch = 'diff --git a/.env b/free.txt\nsimilarity index 100%\nrename from .env\nrename to free.txt\n';
    expect(await place.run('apply_patch', { patch })).toMatchObject(protectedAnswer);
    expectUntouched();
  });
});

describe('an approval', () => {
  test('is not something that a caller can write', async () => {
    for (const field of ['allowProtected', 'allow_protected', '__proto__']) {
      const input = JSON.parse(`{"path":".env","${field}":true}`) as unknown;
      expect(await place.run('read', input)).toMatchObject({ code: 'file.invalid_input' });
    }
  });

  test('of one file is not one of another that a link leads to by then', async () => {
    const link = join(place.workspace, 'links/moving');
    symlinkSync('../.env', link);
    const seen = await place.tools.inspect('palyra.fs.read', { path: 'links/moving' }, place.context);
    expect(seen).toMatchObject({ kind: 'inspected', protectedFiles: [{ path: '.env', reason: 'secret' }] });
    const allowProtected = ['.env'];
    expect(await place.run('read', { path: 'links/moving' }, { allowProtected })).toMatchObject({ kind: 'completed' });
    rmSync(link);
    place.put('other.key', `${secret}-other`);
    symlinkSync('../other.key', link);
    expect(await place.run('read', { path: 'links/moving' }, { allowProtected })).toMatchObject(protectedAnswer);
    rmSync(link);
  });

  test('lets exactly that happen, and it can be undone', async () => {
    const input = { path: 'links/hook', content: 'approved\n' };
    const result = await place.run('write', input, { allowProtected: ['.git/hooks/pre-commit'] });
    expect(result).toMatchObject({ kind: 'completed', output: { path: '.git/hooks/pre-commit' } });
    if (result.kind !== 'completed' || result.changes === undefined) throw new Error('It was not written.');
    expect(await place.tools.undo(result.changes, place.context)).toMatchObject(protectedAnswer);
    const undone = await place.tools.undo(result.changes, { ...place.context, allowProtected: true });
    expect(undone.kind).toBe('completed');
    expectUntouched();
  });
});

test('what was changed meanwhile is not overwritten by an undo, and a link in its place is not followed', async () => {
  place.put('undo.txt', 'before');
  const result = await place.run('write', { path: 'undo.txt', content: 'after' });
  if (result.kind !== 'completed' || result.changes === undefined) throw new Error('It was not written.');
  rmSync(join(place.workspace, 'undo.txt'));
  writeFileSync(join(place.workspace, 'same'), 'after');
  symlinkSync('same', join(place.workspace, 'undo.txt'));
  expect(await place.tools.undo(result.changes, place.context)).toMatchObject({
    code: 'file.conflict',
    effect: 'none',
  });
  expect(readFileSync(join(place.workspace, 'same'), 'utf8')).toBe('after');
});
