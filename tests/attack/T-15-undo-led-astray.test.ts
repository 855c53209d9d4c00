/**
 * T-15: what an agent did can be undone. An agent that puts something in the way of one of its files, a file where a directory was
 * or a link that leads out or to a protected place, keeps nobody from undoing the others; and nothing is put back there.
 */
import { chmodSync, existsSync, mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type FileToolsPlace, makeFileToolsPlace } from '../integration/file-tools-place.ts';

let place: FileToolsPlace;
beforeEach(async () => {
  place = await makeFileToolsPlace();
});
afterEach(() => place.close());

const at = (path: string) => join(place.workspace, path);

test.each([
  ['a file where its directory was', () => writeFileSync(at('d'), 'in the way')],
  ['a link out of the workspace', () => symlinkSync('..', at('d'))],
  ['a link into a protected directory', () => symlinkSync('.git/hooks', at('d'))],
  ['a link to the same bytes elsewhere', () => symlinkSync('kept', at('d'))],
  ['a link in a circle', () => symlinkSync('d', at('d'))],
  ['a link to a place that is not there', () => symlinkSync('nowhere/../gone', at('d'))],
  ['a directory in its place', () => mkdirSync(at('d/file'), { recursive: true })],
  ['a pipe’s name that is too long', () => symlinkSync('x'.repeat(300), at('d'))],
])('%s: the others are put back, and nothing is there', async (_, getInTheWay) => {
  mkdirSync(at('.git/hooks'), { recursive: true });
  place.put('other', 'old\n');
  place.put('d/file', 'old\n');
  const change = (path: string) => `--- a/${path}\n+++ b/${path}\n@@ -1 +1 @@\n-old\n+new\n`;
  const done = await place.run('apply_patch', { patch: `${change('other')}${change('d/file')}` });
  if (done.kind !== 'completed' || done.changes === undefined) throw new Error('It was not done.');
  renameSync(at('d'), at('kept'));
  getInTheWay();
  const allowProtected = done.changes.files.map(({ path }) => path);
  const context = { ...place.context, allowProtected };
  expect(await place.tools.undo(done.changes, context)).toMatchObject({ kind: 'failed', code: 'file.conflict' });
  expect(place.text('other')).toBe('new\n');
  const undone = await place.tools.undo(done.changes, context, { conflicts: 'skip' });
  expect(undone).toMatchObject({ output: { restored: ['other'], conflicts: ['d/file'] } });
  expect([place.text('other'), place.text('kept/file')]).toEqual(['old\n', 'new\n']);
  expect([existsSync(at('.git/hooks/file')), existsSync(join(place.base, 'file'))]).toEqual([false, false]);
  rmSync(at('d'), { recursive: true });
});

test.each([0o555, 0o111, 0])(
  'a directory that may not be written any more (mode %i) keeps nobody from the others',
  async (mode) => {
    for (const path of ['other', 'd/file', 'd/gone']) place.put(path, 'old\n');
    const change = (path: string) => `--- a/${path}\n+++ b/${path}\n@@ -1 +1 @@\n-old\n+new\n`;
    const made = '--- /dev/null\n+++ b/d/made\n@@ -0,0 +1 @@\n+new\n';
    const patch = `${change('other')}${change('d/file')}--- a/d/gone\n+++ /dev/null\n@@ -1 +0,0 @@\n-old\n${made}`;
    const done = await place.run('apply_patch', { patch });
    if (done.kind !== 'completed' || done.changes === undefined) throw new Error('It was not done.');
    chmodSync(at('d'), mode);
    const undone = await place.tools.undo(done.changes, place.context, { conflicts: 'skip' });
    chmodSync(at('d'), 0o755);
    expect(undone).toMatchObject({ output: { restored: ['other'], conflicts: ['d/file', 'd/gone', 'd/made'] } });
    expect([place.text('other'), place.text('d/file'), place.text('d/made')]).toEqual(['old\n', 'new\n', 'new\n']);
    const again = await place.tools.undo(done.changes, place.context, { conflicts: 'skip' });
    expect(again).toMatchObject({
      output: { restored: ['d/file', 'd/gone', 'd/made'], unchanged: ['other'], conflicts: [] },
    });
  },
);
