import { expect, test } from 'vitest';
import { wrap } from './wrap.ts';

test('lines break between words, and a word that is too long stays whole', () => {
  expect(wrap('one two three', 7)).toEqual(['one two', 'three']);
  expect(wrap('a considerably b', 5)).toEqual(['a', 'considerably', 'b']);
  expect(wrap('', 5)).toEqual([]);
});
