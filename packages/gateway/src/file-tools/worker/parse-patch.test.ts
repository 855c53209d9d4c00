import { describe, expect, test } from 'vitest';
import { FileFailure } from './file-failure.ts';
import { parsePatch } from './parse-patch.ts';

const problemOf = (patch: string): unknown => {
  try {
    parsePatch(patch);
    return 'none';
  } catch (error) {
    if (!(error instanceof FileFailure)) throw error;
    const { code, message, details } = error;
    return { code, message, details };
  }
};
const named = (patch: string) => parsePatch(patch).map(({ action, from, to, mode }) => ({ action, from, to, mode }));

describe('the names of files', () => {
  const hunk = '@@ -1 +1 @@\n-a\n+b\n';

  test('are below a/ and b/, or the same, or the same in two directories', () => {
    const same = { action: 'modify', from: 'x/y', to: 'x/y', mode: undefined };
    expect(named(`--- a/x/y\n+++ b/x/y\n${hunk}`)).toEqual([same]);
    expect(named(`--- x/y\t2020-01-01 00:00:00\n+++ x/y\t2020-01-02\n${hunk}`)).toEqual([same]);
    expect(named(`diff -ru old/x/y new/x/y\n--- old/x/y\n+++ new/x/y\n${hunk}`)).toEqual([same]);
    expect(named(`diff --git a/x/y b/x/y\nindex 1..2 100644\n--- a/x/y\n+++ b/x/y\n${hunk}`)).toEqual([same]);
  });

  test('in git’s quotes are bytes', () => {
    expect(named(`--- "a/\\303\\244 \\"x\\"\\t"\n+++ "b/\\303\\244 \\"x\\"\\t"\n${hunk}`)).toMatchObject([
      { from: 'ä "x"\t', to: 'ä "x"\t' },
    ]);
  });

  test('with blanks are read where there are no hunks, too', () => {
    expect(named('diff --git a/a b c b/a b c\nold mode 100644\nnew mode 100755\n')).toEqual([
      { action: 'modify', from: 'a b c', to: 'a b c', mode: 0o755 },
    ]);
  });

  test('that differ without being a rename are refused', () => {
    expect(problemOf(`--- a/one\n+++ b/two\n${hunk}`)).toMatchObject({
      code: 'file.patch_malformed',
      details: { line: 1 },
    });
  });
});

test('files are made, deleted and renamed, with and without hunks', () => {
  const patch = [
    'diff --git a/new b/new\nnew file mode 100755\nindex 000..111\n--- /dev/null\n+++ b/new\n@@ -0,0 +1 @@\n+x\n',
    'diff --git a/empty b/empty\nnew file mode 100644\nindex 000..e69\n',
    'diff --git a/old b/old\ndeleted file mode 100644\n--- a/old\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n',
    'diff --git a/from b/to\nsimilarity index 100%\nrename from from\nrename to to\n',
  ];
  expect(named(patch.join(''))).toEqual([
    { action: 'create', from: undefined, to: 'new', mode: 0o755 },
    { action: 'create', from: undefined, to: 'empty', mode: 0o644 },
    { action: 'delete', from: 'old', to: undefined, mode: undefined },
    { action: 'rename', from: 'from', to: 'to', mode: undefined },
  ]);
});

test('a commit message in front and git’s signature behind are no part of it', () => {
  const mail =
    'From 1234\nSubject: x\n\n---\n a | 2 +-\n\ndiff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -1 +1 @@\n-a\n+b\n-- \n2.39.2\n\n';
  expect(named(mail)).toHaveLength(1);
});

describe('what is malformed is named by its line', () => {
  const head = '--- a/x\n+++ b/x\n';
  test.each([
    ['', 1, /no file/],
    ['@@ -1 +1 @@\n', 1, /before the name/],
    [`${head}@@ -1,2 +1,2 @@\n a\n`, 5, /ends inside a hunk/],
    [`${head}@@ -1 +1 @@\n-a\n+b\n+c\n`, 6, /more lines than it says/],
    [`${head}@@ -1 +1 @@\n-a\n-b\n`, 5, /one too many/],
    [`${head}@@ -1 +1 @@\nx\n`, 4, /does not belong/],
    [`${head}@@ bad @@\n`, 3, /does not begin with/],
    [`${head}@@ -1 +1 @@\n-a\n+b\nnonsense\n`, 6, /Neither a file nor a hunk/],
    ['diff --git a/x b/x\nnew file mode 120000\n--- /dev/null\n+++ b/x\n', 2, /no links/],
    ['diff --git a/x b/x\nGIT binary patch\n', 2, /Binary/],
    ['diff --git a/x b/y\ncopy from x\ncopy to y\n', 2, /Copies/],
    [head, 1, /says nothing/],
  ])('%j', (patch, line, message) => {
    expect(problemOf(patch)).toMatchObject({
      code: 'file.patch_malformed',
      message: expect.stringMatching(message),
      details: { line },
    });
  });
});

// SECURITY: T-39 — looked at whole at each blank, such a line takes minutes of a worker, and seconds of palyrad's own thread.
test.each(['a ', "'a ", '"a" ', '"\\" ', 'b/x ', 'x\r '])('a megabyte of %j is read once', (word) => {
  const line = `diff --git ${word.repeat(1_000_000 / word.length)}`;
  expect(problemOf(`${line}\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n`)).toMatchObject({
    message: expect.stringContaining('more than one file'),
  });
});

test('names that are full of blanks are parted where one ends', () => {
  const name = `${'a b '.repeat(60)}/${' c'.repeat(100)}`;
  const modes = 'old mode 100644\nnew mode 100755\n';
  const patch = `diff --git a/${name} b/${name}\n${modes}diff --git "a/${name} 2" "b/${name} 2"\n${modes}`;
  expect(named(patch).map(({ from }) => from)).toEqual([name, `${name} 2`]);
});
