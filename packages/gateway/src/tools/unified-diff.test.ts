import fc from 'fast-check';
import { expect, test } from 'vitest';
import { applyHunks } from '../file-tools/worker/apply-hunks.ts';
import { parsePatch } from '../file-tools/worker/parse-patch.ts';
import { headerName, unifiedDiff } from './unified-diff.ts';

test('a changed line is shown among its neighbours', () => {
  const before = 'a\nb\nc\nd\ne\nf\ng\nh\n';
  expect(unifiedDiff({ path: 'x.txt', before, after: before.replace('e', 'E') })).toBe(
    '--- a/x.txt\n+++ b/x.txt\n@@ -2,7 +2,7 @@\n b\n c\n d\n-e\n+E\n f\n g\n h\n',
  );
});

test('a new file, an emptied one and a missing line break are said as diff says them', () => {
  expect(unifiedDiff({ path: 'x', before: undefined, after: 'a\n' })).toBe(
    '--- /dev/null\n+++ b/x\n@@ -0,0 +1,1 @@\n+a\n',
  );
  expect(unifiedDiff({ path: 'x', before: 'a\n', after: '' })).toBe('--- a/x\n+++ b/x\n@@ -1,1 +0,0 @@\n-a\n');
  expect(unifiedDiff({ path: 'x', before: 'a', after: 'a\n' })).toBe(
    '--- a/x\n+++ b/x\n@@ -1,1 +1,1 @@\n-a\n\\ No newline at end of file\n+a\n',
  );
  expect(unifiedDiff({ path: 'x', before: 'a\n', after: 'a\n' })).toBe('');
});

test('a name cannot add lines of its own', () => {
  expect(headerName('a/x\n+++ b/y"\\\u0085')).toBe('"a/x\\012+++ b/y\\"\\\\\\302\\205"');
  expect(headerName('a/ü b')).toBe('a/ü b');
});

const text = fc
  .array(fc.constantFrom('a\n', 'b\n', '\n', '-- c\n', '\r\n', '@@ x\n'), { maxLength: 40 })
  .chain((lines) => fc.constantFrom('', 'end', 'ü').map((end) => lines.join('') + end));

function applied(before: string, diff: string): string {
  const [patch] = parsePatch(diff);
  const latin = (each: string) => Buffer.from(each).toString('latin1');
  const result = applyHunks(latin(before), patch?.hunks ?? [], { maxOffset: 0 });
  return result.kind === 'applied' ? Buffer.from(result.text, 'latin1').toString() : `does not apply: ${result.reason}`;
}

test('applied by our own patch tool it makes the one text of the other', () => {
  fc.assert(
    fc.property(text, text, (before, after) => {
      fc.pre(before !== after);
      expect(applied(before, unifiedDiff({ path: 'x', before, after }))).toBe(after);
    }),
  );
});

test('texts too large to compare line by line are shown as replaced, and still apply', () => {
  const lines = (mark: string) => Array.from({ length: 2000 }, (_, at) => `${mark}${at % 7}\n`).join('');
  const [before, after] = [`same\n${lines('a')}same\n`, `same\n${lines('b')}same\n`];
  expect(applied(before, unifiedDiff({ path: 'x', before, after }))).toBe(after);
});
