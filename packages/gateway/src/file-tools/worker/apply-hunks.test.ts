import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { applyHunks } from './apply-hunks.ts';
import { parsePatch } from './parse-patch.ts';

const bytes = (text: string) => Buffer.from(text, 'utf8').toString('latin1');
const apply = (text: string, patch: string, maxOffset = 0) =>
  applyHunks(bytes(text), parsePatch(patch)[0]?.hunks ?? [], { maxOffset });

const HEAD = '--- a/x\n+++ b/x\n';
const FILE = Array.from({ length: 20 }, (_, index) => `line ${index + 1}\n`).join('');

describe('a hunk', () => {
  test('fits where it says', () => {
    const patch = `${HEAD}@@ -2,2 +2,3 @@\n line 2\n-line 3\n+three\n+more\n`;
    expect(apply(FILE, patch)).toEqual({ kind: 'applied', text: FILE.replace('line 3\n', 'three\nmore\n') });
  });

  test('without old lines comes behind its line', () => {
    expect(apply('a\nb\n', `${HEAD}@@ -1,0 +2 @@\n+x\n`)).toEqual({ kind: 'applied', text: 'a\nx\nb\n' });
  });

  test('that does not fit says where, what it wants, and what is there', () => {
    expect(apply(FILE, `${HEAD}@@ -2,2 +2,2 @@\n line 2\n-line three\n+x\n`)).toEqual({
      kind: 'mismatch',
      hunk: 1,
      line: 3,
      reason: 'the patch expects "line three", the file has "line 3"',
    });
  });

  test('is not moved, but its lines are found', () => {
    const patch = `${HEAD}@@ -2,2 +2,2 @@\n line 5\n-line 6\n+x\n`;
    expect(apply(FILE, patch)).toMatchObject({ line: 2, reason: expect.stringContaining('found at line 5') });
    expect(apply(FILE, patch, 2)).toMatchObject({ kind: 'mismatch' });
    expect(apply(FILE, patch, 3)).toMatchObject({ kind: 'applied', text: FILE.replace('line 6\n', 'x\n') });
  });

  test('that would fit at two places near is not moved', () => {
    expect(apply('x\nsame\ny\nsame\n', `${HEAD}@@ -3 +3 @@\n-same\n+new\n`, 5)).toMatchObject({ kind: 'mismatch' });
  });

  test('nor one that also fits far away, however often', () => {
    const far = 'same\n'.repeat(9);
    const near = 'x\n'.repeat(20);
    const patch = `${HEAD}@@ -31 +31 @@\n-same\n+new\n`;
    const before = `${far}${near}same\ny\nsame\n`;
    expect(apply(before, patch, 1)).toMatchObject({ kind: 'mismatch' });
    // Where it fits near just once it is moved there, and what fits far away does not matter.
    expect(apply(`${far}same\nsame\n${near}same\n`, `${HEAD}@@ -31 +31 @@\n-same\n+new\n`, 3)).toEqual({
      kind: 'applied',
      text: `${far}same\nsame\n${near}new\n`,
    });
  });

  test('that ends otherwise than the file does not fit', () => {
    const reason = expect.stringContaining('line end');
    expect(apply('a', `${HEAD}@@ -1 +1 @@\n-a\n+b\n`)).toMatchObject({ kind: 'mismatch', reason });
    expect(apply('a\r\n', `${HEAD}@@ -1 +1 @@\n-a\n+b\n`)).toMatchObject({ kind: 'mismatch', reason });
  });

  test('that leaves a line without an end in the middle does not fit', () => {
    const patch = `${HEAD}@@ -1 +1 @@\n-a\n+b\n\\ No newline at end of file\n`;
    expect(apply('a\nc\n', patch)).toMatchObject({
      kind: 'mismatch',
      reason: expect.stringContaining('without an end'),
    });
  });

  test('that begins before the one above it ends is refused', () => {
    const patch = `${HEAD}@@ -2,2 +2,2 @@\n line 2\n-line 3\n+x\n@@ -3 +3 @@\n-line 3\n+y\n`;
    expect(apply(FILE, patch)).toMatchObject({ kind: 'mismatch', hunk: 2, reason: expect.stringContaining('before') });
  });
});

describe('what the system’s programs make of two texts', () => {
  let place: string;
  beforeAll(() => {
    place = mkdtempSync(join(tmpdir(), 'palyra-diff-'));
  });
  afterAll(() => {
    rmSync(place, { recursive: true });
  });

  // Few different lines, so that hunks are ambiguous; odd bytes and ends, so that nothing is taken for text.
  const line = fc.constantFrom(
    'a',
    'b',
    '',
    ' ',
    '-',
    '+x',
    '--- a/x',
    '+++ b/x',
    '@@ -1 +1 @@',
    '\\ x',
    'ä',
    '\r',
    '-- ',
  );
  const text = fc
    .tuple(fc.array(line, { maxLength: 25 }), fc.boolean())
    .map(([lines, ends]) => lines.join('\n') + (ends && lines.length > 0 ? '\n' : ''));

  const differ = (program: readonly string[], before: string, after: string): string => {
    for (const [name, content] of [
      ['before', before],
      ['after', after],
    ] as const)
      writeFileSync(join(place, name), content);
    const [file = '', ...args] = program;
    return spawnSync(file, args, { cwd: place, encoding: 'utf8' }).stdout;
  };

  test.each([
    [['diff', '-U3', '--label', 'a/x', '--label', 'b/x', 'before', 'after']],
    [['diff', '-U0', '--label', 'a/x', '--label', 'b/x', 'before', 'after']],
    [['git', 'diff', '--no-index', '--no-renames', '--text', 'before', 'after']],
  ])('applies exactly: %j', (program) => {
    const git = program[0] === 'git';
    fc.assert(
      fc.property(text, text, (before, after) => {
        const made = differ(program, before, after);
        if (made === '') return;
        const patch = git ? made.replaceAll(/^(\+\+\+|---) ([ab])\/(?:before|after)$/gm, '$1 $2/x') : made;
        expect(apply(before, patch.replace(/^diff --git .*\n/, ''))).toEqual({ kind: 'applied', text: bytes(after) });
      }),
      { numRuns: 60 },
    );
  });

  test('and diff is there to make them', () => {
    expect(execFileSync('diff', ['--version'], { encoding: 'utf8' })).toContain('diff');
  });
});
