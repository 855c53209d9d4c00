import { expect, test } from 'vitest';
import { isHarmlessScript, sedRefusal } from './sed-script.ts';

test.each([
  'p',
  '1,5p',
  '$d',
  '1!d',
  '2~3p;$=',
  '/foo/,/bar/{s/a/b/gI;p}',
  's/a\\/b/c/2p',
  's|/usr|/opt|g',
  '\\,x,d',
  ':a;N;$!ba;s/\\n/ /g',
  'y/abc/xyz/',
  's/[[:space:]]*$//',
  's/[0-9][^]]/x/',
  '1i\\hello',
  '/x/a text with e and w /etc/passwd',
  '# comment e',
  '5q',
  '',
])('%j is harmless', (script) => {
  expect(isHarmlessScript(script)).toBe(true);
});

test.each([
  'e',
  'e id',
  '1e id',
  '1,5 e id',
  '1 ! e id',
  '/x/e id',
  '\\,x,e id',
  '{e id}',
  'p;e id',
  'p\ne id',
  'a text\ne id',
  's/a/b/e',
  's/a/b/ge',
  's/a/b/2e',
  's,a,b,pe',
  's/a/b/w out',
  's/[/]/e/;s/x/id/e',
  'w /etc/x',
  'W x',
  'r /etc/passwd',
  'R x',
  '1,e id',
  's/a/b',
  'k',
  '$!{1e id\n}',
  '/a/I,/b/Me',
])('%j is not', (script) => {
  expect(isHarmlessScript(script)).toBe(false);
});

test('every place where sed takes a script is read', () => {
  expect(sedRefusal(['-n', '1e', 'file'])).toBe('1e');
  expect(sedRefusal(['-e', 'p', '-e', '1e', 'file'])).toBe('1e');
  expect(sedRefusal(['-ne1e', 'file'])).toBe('1e');
  expect(sedRefusal(['file', '-ne', '1e'])).toBe('1e');
  expect(sedRefusal(['--expression=1e', 'file'])).toBe('1e');
  expect(sedRefusal(['--exp', '1e', 'file'])).toBe('1e');
  expect(sedRefusal(['-l', '5', '1e'])).toBe('1e');
  expect(sedRefusal(['--', '1e'])).toBe('1e');
  expect(sedRefusal(['-i.bak', '1e', 'file'])).toBe('1e');
  expect(sedRefusal(['-n', 'p', 'e'])).toBeUndefined();
});
