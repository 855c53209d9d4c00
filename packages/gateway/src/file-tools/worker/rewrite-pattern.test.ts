import { setFlagsFromString } from 'node:v8';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { rewritePattern } from './rewrite-pattern.ts';

const rewritten = (pattern: string, ignoreCase = false) => rewritePattern(pattern, { ignoreCase });

test('is the same language, with and without case', () => {
  const atom = fc.constantFrom(
    'a',
    'B',
    '.',
    'x',
    '[a-c]',
    '[^Ab]',
    '[\\d-]',
    '\\w',
    '\\s',
    '\\.',
    '\\b',
    '^',
    '$',
    '-',
    'ä',
  );
  const quantifier = fc.constantFrom('', '', '', '*', '+', '?', '{2}', '{1,3}', '{2,}', '{0,2}?', '*?');
  const piece = fc
    .tuple(atom, quantifier)
    .map(([one, often]) => (/^(?:\\b|\^|\$)$/.test(one) ? one : `${one}${often}`));
  const sequence = fc.array(piece, { maxLength: 5 }).map((pieces) => pieces.join(''));
  const pattern = fc
    .tuple(sequence, sequence, sequence, quantifier)
    .map(([one, two, three, often]) => `${one}(?:${two}|(${three}))${often}`);
  const line = fc.string({
    unit: fc.constantFrom('a', 'b', 'c', 'A', 'B', 'x', '1', ' ', '-', '.', 'ä', 'Ä'),
    maxLength: 15,
  });
  fc.assert(
    fc.property(pattern, line, fc.boolean(), (text, subject, ignoreCase) => {
      const plain = new RegExp(text, ignoreCase ? 'i' : '').exec(subject);
      const ours = new RegExp(rewritten(text, ignoreCase)).exec(subject);
      // Where it begins is all that a search tells; ECMAScript has rules of its own for repeating nothing.
      expect(ours?.index).toBe(plain?.index);
    }),
    { numRuns: 3000 },
  );
});

test('is what a linear engine takes', () => {
  setFlagsFromString('--enable-experimental-regexp-engine');
  const linear: string = 'l';
  for (const text of ['[a-f0-9]{64}', '(a{10}){10}', '(?<name>x)+', 'foo\\d{2,40}bar', '(a*)*b']) {
    expect(new RegExp(rewritten(text, true), linear).flags).toBe(linear);
  }
});

describe('is refused', () => {
  test.each([
    ['(a)\\1', /Back references/],
    ['(?=a)', /Look-around/],
    ['(?<!a)b', /Look-around/],
    ['(?i:a)', /flags/],
    ['\\p{L}', /properties/],
    ['a**', /repeats a repetition/],
    ['*a', /repeats nothing/],
    ['(a', /does not close/],
    ['a)', /closes a group/],
    ['[a', /does not close a character class/],
    ['x{1000}', /more than 256/],
    ['((a{200}){200}){200}', /too long/],
    ['(x{3,2})', /between more and fewer/],
    ['('.repeat(60) + ')'.repeat(60), /nested too deep/],
    ['[z-a]', /ends before it begins/],
  ])('%s', (text, message) => {
    expect(() => rewritten(text)).toThrow(message);
  });
});
