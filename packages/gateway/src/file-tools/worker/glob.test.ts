import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { compileGlob } from './glob.ts';

const matches = (pattern: string, path: string) => compileGlob(pattern)?.(path);

describe('a glob', () => {
  test.each([
    ['*.ts', 'a.ts', true],
    ['*.ts', 'src/a.ts', false],
    ['**/*.ts', 'a.ts', true],
    ['**/*.ts', 'x/y/a.ts', true],
    ['src/**', 'src/a/b', true],
    ['src/**/b', 'src/b', true],
    ['src/**/b', 'src/x/y/b', true],
    ['src/**/b', 'srcx/b', false],
    ['a?c', 'abc', true],
    ['a?c', 'ac', false],
    ['[a-c]x', 'bx', true],
    ['[!a-c]x', 'bx', false],
    ['[]]x', ']x', true],
    ['{a,b}/{c,d}', 'b/c', true],
    ['{a,b}', 'c', false],
    ['\\*', '*', true],
    ['\\*', 'x', false],
    ['a\\bc', 'abc', true],
    ['*\\?b', 'x?b', true],
    ['*\\?b', 'x/b', false],
    ['x[ab]c', 'xbc', true],
    ['*a*b*', 'xxaxxbxx', true],
    ['😀?', '😀😀', true],
  ])('%s and %s: %s', (pattern, path, expected) => {
    expect(matches(pattern, path)).toBe(expected);
  });

  test('that is malformed, or stands for too many, is none', () => {
    expect([compileGlob('[a'), compileGlob('x\\'), compileGlob('{a,b}'.repeat(7))]).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
  });

  test('of many stars takes no time', () => {
    expect(matches(`${'*a'.repeat(100)}b`, 'a'.repeat(4000))).toBe(false);
    expect(matches('**/a/'.repeat(100), 'a/'.repeat(2000))).toBe(true);
  });

  test('without wildcards is the path itself', () => {
    const plain = fc.stringMatching(/^[a-z./]{1,20}$/);
    fc.assert(
      fc.property(plain, plain, (one, other) => {
        expect([matches(one, one), matches(one, other)]).toEqual([true, one === other]);
      }),
    );
  });
});
