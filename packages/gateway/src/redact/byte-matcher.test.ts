import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type BytePattern, createByteMatcher, step, wipeMatcher } from './byte-matcher.ts';

/** Few letters, so that patterns overlap, contain and repeat one another. */
const word = fc.string({ unit: fc.constantFrom('a', 'b', 'c'), minLength: 1, maxLength: 6 });
const text = fc.string({ unit: fc.constantFrom('a', 'b', 'c'), maxLength: 40 });

function patternsOf(words: readonly string[], holds = true): BytePattern[] {
  return words.map((each, label) => ({ bytes: Buffer.from(each), label, holds }));
}

/** By trying every pattern at every place. */
function plainly(words: readonly string[], read: string): { readonly length: number; readonly held: number } {
  const ending = words.filter((each) => read.endsWith(each)).map((each) => each.length);
  const beginnings = words.flatMap((each) => Array.from({ length: each.length - 1 }, (_, n) => each.slice(0, n + 1)));
  const held = beginnings.filter((each) => read.endsWith(each)).map((each) => each.length);
  return { length: Math.max(0, ...ending), held: Math.max(0, ...held) };
}

test('finds the longest pattern at every byte, and knows how many bytes may become one', () => {
  fc.assert(
    fc.property(fc.uniqueArray(word, { minLength: 1, maxLength: 8 }), text, (words, read) => {
      const matcher = createByteMatcher(patternsOf(words));
      let state = 0;
      for (const [index, byte] of Buffer.from(read).entries()) {
        state = step(matcher, state, byte);
        const found = { length: matcher.length[state], held: matcher.held[state] };
        expect(found).toEqual(plainly(words, read.slice(0, index + 1)));
      }
    }),
    { numRuns: 200 },
  );
});

test('a label says which pattern it was, and which one may come', () => {
  const matcher = createByteMatcher(patternsOf(['abc', 'bcd']));
  const after = (read: string) => [...Buffer.from(read)].reduce((state, byte) => step(matcher, state, byte), 0);
  expect([matcher.label[after('xabc')], matcher.label[after('abcd')], matcher.heldLabel[after('abc')]]).toEqual([
    0, 1, 1,
  ]);
});

test('patterns that do not hold keep nothing back', () => {
  const matcher = createByteMatcher(patternsOf(['token'], false));
  expect(matcher.held[[...Buffer.from('toke')].reduce((state, byte) => step(matcher, state, byte), 0)]).toBe(0);
});

test('patterns that part late, and more beginnings than get rows, are found all the same', () => {
  const words = Array.from(
    { length: 3000 },
    (_, n) => `${String.fromCharCode(33 + (n % 90), 33 + Math.floor(n / 90))}${n}xyz`,
  );
  const matcher = createByteMatcher(patternsOf(words));
  for (const [label, each] of words.entries()) {
    const state = [...Buffer.from(`x${each}`)].reduce((from, byte) => step(matcher, from, byte), 0);
    expect([matcher.label[state], matcher.length[state]]).toEqual([label, each.length]);
  }
});

test('without patterns nothing is found', () => {
  const matcher = createByteMatcher([]);
  expect([step(matcher, 0, 0), step(matcher, 0, 255), matcher.longest, matcher.length[0]]).toEqual([0, 0, 0, 0]);
});

test('a wiped matcher spells nothing out', () => {
  const matcher = createByteMatcher(patternsOf(['secret']));
  wipeMatcher(matcher);
  expect([...matcher.only, ...matcher.successors].filter((value) => value !== 0)).toEqual([]);
});
