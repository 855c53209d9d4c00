/**
 * T-08: an approver is shown a patch as it is written. Where its lines name two files, say two things of one file, or spell a
 * name that can be read in two ways, what was shown would not be what is done.
 */
import { readdirSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type FileToolsPlace, makeFileToolsPlace } from '../integration/file-tools-place.ts';

let place: FileToolsPlace;

beforeAll(async () => {
  place = await makeFileToolsPlace();
  place.put('shown', 'old\n');
  place.put('done', 'old\n');
});
afterAll(() => place.close());

const HUNK = '@@ -1 +1 @@\n-old\n+new\n';
const NEW = '@@ -0,0 +1 @@\n+new\n';
const SHOWN = 'diff --git a/shown b/shown\n';
const MOVED = 'diff --git a/shown b/moved\n';
const MOVE = 'rename from done\nrename to gone\n';

test.each([
  ['a change of one file under the name of another', `${SHOWN}--- a/done\n+++ b/done\n${HUNK}`],
  ['a move that the first line calls otherwise', `${MOVED}${MOVE}`],
  [
    'a move that the names of its hunk call otherwise',
    `diff --git a/done b/gone\n${MOVE}--- a/shown\n+++ b/moved\n${HUNK}`,
  ],
  ['a first line with a blank behind it', `diff --git a/shown b/shown \n--- a/done\n+++ b/done\n${HUNK}`],
  ['a first line with three names', `diff --git a/shown b/shown x\n--- a/done\n+++ b/done\n${HUNK}`],
  ['a first line that cannot be read', `diff --git "a/shown" "b/shown\\q"\n--- a/done\n+++ b/done\n${HUNK}`],
  ['a first line as diff writes it', `diff -u a/shown b/shown\n--- a/done\n+++ b/done\n${HUNK}`],
  ['a first line as hg writes it', `diff -r 0123456789ab shown\n--- a/done\n+++ b/done\n${HUNK}`],
  ['a first line with a name in front', `diff --git shown a/done b/done\n--- a/done\n+++ b/done\n${HUNK}`],
  ['a first line with a name behind a tab', `diff --git a/done b/done\tb/shown\n--- a/done\n+++ b/done\n${HUNK}`],
  ['a move whose first line has three names', `diff --git a/shown b/moved x\n${MOVE}`],
  ['half a move', `${SHOWN}rename from done\n--- a/shown\n+++ b/shown\n${HUNK}`],
  ['two moves', `${MOVED}rename from shown\nrename to moved\nrename to gone\n`],
  ['a move to nowhere', `${MOVED}rename from shown\nrename to moved\n--- a/shown\n+++ /dev/null\n`],
  ['a deletion that changes', `${SHOWN}deleted file mode 100644\n--- a/shown\n+++ b/shown\n${HUNK}`],
  ['a new file that is an old one', `${SHOWN}new file mode 100755\n--- a/shown\n+++ b/shown\n${HUNK}`],
  ['a new file with another name', `${SHOWN}new file mode 100644\n--- /dev/null\n+++ b/made\n${NEW}`],
  ['two modes', `${SHOWN}old mode 100644\nnew mode 100644\nnew mode 100755\n`],
  ['an old mode without a new one', `${SHOWN}old mode 100755\n--- a/shown\n+++ b/shown\n${HUNK}`],
  ['a name that is not UTF-8', `--- /dev/null\n+++ "b/\\377"\n${NEW}`],
  ['an escape that nobody knows', `--- /dev/null\n+++ "b/\\qa"\n${NEW}`],
  ['an escape of more than a byte', `--- /dev/null\n+++ "b/\\501"\n${NEW}`],
  ['something behind a quoted name', `--- /dev/null\n+++ "b/made".txt\n${NEW}`],
  ['a quote that does not end', `--- /dev/null\n+++ "b/made\n${NEW}`],
])('%s is refused before anybody is asked', async (_, patch) => {
  const before = readdirSync(place.workspace);
  expect(await place.tools.inspect('palyra.fs.apply_patch', { patch }, place.context)).toMatchObject({
    kind: 'failed',
    code: 'file.patch_malformed',
  });
  expect(await place.run('apply_patch', { patch })).toMatchObject({ code: 'file.patch_malformed', effect: 'none' });
  expect(readdirSync(place.workspace)).toEqual(before);
  expect([place.text('shown'), place.text('done')]).toEqual(['old\n', 'old\n']);
});

test('and what agrees with itself is done', async () => {
  place.put('all/agreed', 'old\n');
  const move = 'rename from all/agreed\nrename to all/"moved"\n';
  const patch = `diff --git a/all/agreed "b/all/\\"moved\\""\n${move}--- a/all/agreed\n+++ "b/all/\\"moved\\""\n${HUNK}`;
  expect(await place.run('apply_patch', { patch })).toMatchObject({ kind: 'completed' });
  expect(place.text('all/"moved"')).toBe('new\n');
});

test.each([
  'diff --git a/in order b/in order',
  'diff --git in order in order',
  "diff -ruN -U 3 --color=never 'old/in order' 'new/in order'",
  'diff -ru old/in order new/in order',
  'diff -r 0123456789ab -r ba9876543210 in order',
  'diff --git a/in order b/in order\r',
])('a first line that names the file is taken: %s', async (first) => {
  place.put('in order', 'old\n');
  const patch = `${first}\n--- a/in order\n+++ b/in order\n${HUNK}`;
  expect(await place.run('apply_patch', { patch })).toMatchObject({ kind: 'completed' });
  expect(place.text('in order')).toBe('new\n');
});

test('and one that names both sides of a move with blanks', async () => {
  place.put('one name', 'old\n');
  const patch = 'diff --git a/one name b/another one\nrename from one name\nrename to another one\n';
  expect(await place.run('apply_patch', { patch })).toMatchObject({ kind: 'completed' });
  expect(place.text('another one')).toBe('old\n');
});
