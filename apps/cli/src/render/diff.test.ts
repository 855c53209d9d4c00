import { expect, test } from 'vitest';
import { renderDiff } from './diff.ts';

test('a new file is all plus, a removed one all minus', () => {
  expect(renderDiff({ path: 'a', before: undefined, after: 'x\ny\n' })).toBe('--- /dev/null\n+++ a\n+x\n+y\n');
  expect(renderDiff({ path: 'a', before: 'x\n', after: undefined })).toBe('--- a\n+++ /dev/null\n-x\n');
});

test('what is added in the middle stands between what was there', () => {
  const before = '1\n2\n3\n4\n5\n6\n7\n8\n';
  const after = '1\n2\n3\n4\nnew\n5\n6\n7\n8\n';
  expect(renderDiff({ path: 'a', before, after })).toBe('--- a\n+++ a\n 2\n 3\n 4\n+new\n 5\n 6\n 7\n');
});

test('the same lines twice are not taken for one another', () => {
  expect(renderDiff({ path: 'a', before: 'x\nx\n', after: 'x\nx\nx\n' })).toBe('--- a\n+++ a\n x\n x\n+x\n');
});
