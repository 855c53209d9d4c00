import { expect, test } from 'vitest';
import type { FileState } from '../file-tools/worker/tool-shapes.ts';
import { showWrite } from './show-write.ts';

const file = (mode = 0o644): FileState => ({ kind: 'file', sha256: 'ab'.repeat(32), sizeBytes: 2, mode });
const changed = (before: FileState, after: FileState) => ({ files: [{ path: 'x', before, after }], directories: [] });
const HEAD = 'diff --git a/x b/x\n';

function shown(content: string, inspected: Parameters<typeof showWrite>[0]['inspected'], encoding?: 'base64'): string {
  const input = { path: 'link', content, ...(encoding === undefined ? {} : { encoding }) };
  const action = showWrite({ input, path: 'x', inspected });
  expect(action).toMatchObject({ kind: 'diff', paths: ['x'] });
  return action.kind === 'diff' ? action.diff : '';
}

test('a change of a text is its diff', () => {
  const inspected = { changes: changed(file(), file()), present: 'a\n' };
  expect(shown('b\n', inspected)).toBe(`${HEAD}--- a/x\n+++ b/x\n@@ -1,1 +1,1 @@\n-a\n+b\n`);
});

test('a new file has all its lines and its mode', () => {
  const inspected = { changes: changed({ kind: 'absent' }, file(0o755)), present: null };
  expect(shown('b\n', inspected)).toBe(`${HEAD}new file mode 100755\n--- /dev/null\n+++ b/x\n@@ -0,0 +1,1 @@\n+b\n`);
});

test('a bit that makes it a program is shown', () => {
  const inspected = { changes: changed(file(0o644), file(0o755)), present: 'a\n' };
  expect(shown('a\n', inspected)).toBe(`${HEAD}old mode 100644\nnew mode 100755\n`);
});

test('what is not shown is said to be missing', () => {
  const unshown = { changes: changed(file(), file()), present: null };
  expect(shown('b\n', unshown)).toBe(
    `${HEAD}What is there now is not shown: 2 bytes, SHA-256 ${'ab'.repeat(32)}.\n--- a/x\n+++ b/x\n@@ -0,0 +1,1 @@\n+b\n`,
  );
  expect(shown('AAEC', unshown, 'base64')).toBe(`${HEAD}Bytes that are not shown, as base64 of 4 characters.\n`);
  expect(shown('b\n', { changes: null, present: null })).toBe(
    `${HEAD}What is there now, if anything, is not shown.\n--- a/x\n+++ b/x\n@@ -0,0 +1,1 @@\n+b\n`,
  );
});

test.each([
  [true, 'It is made a program.\n'],
  [false, 'It is made no program.\n'],
])('what is not shown of a secret file does not hide whether it becomes a program: %s', (executable, said) => {
  const input = { path: '.env', content: 'b\n', executable };
  const action = showWrite({ input, path: '.env', inspected: { changes: null, present: null } });
  expect(action.kind === 'diff' && action.diff).toBe(
    `diff --git a/.env b/.env\n${said}What is there now, if anything, is not shown.\n--- a/.env\n+++ b/.env\n@@ -0,0 +1,1 @@\n+b\n`,
  );
});

test('a change that is none says so', () => {
  expect(shown('a\n', { changes: { files: [], directories: [] }, present: null })).toBe(
    `${HEAD}It holds just that already.\n`,
  );
});
