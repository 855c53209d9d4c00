import { expect, test } from 'vitest';
import { headOf, type Node, parseForms, stringOf, wordOf } from './syntax.ts';

function shown(node: Node | undefined): unknown {
  if (node?.kind === 'list') return node.items.map(shown);
  return wordOf(node) ?? `"${stringOf(node)}"`;
}

test('comments, strings with escapes and quoted names', () => {
  const [form, second, ...more] = parseForms(
    '(a ;; (not this)\n "x\\22\\u{e9}\\n;;" (; (b) (; deep ;) ;) $"a (name)" (b))\n(c)',
  );
  expect(shown(form)).toEqual(['a', '"x"é\n;;"', '$"a (name)"', ['b']]);
  expect([headOf(second), more]).toEqual(['c', []]);
});

test('annotations are lists, and places are those of the source', () => {
  const source = ' (@custom "x" (y , [z]))';
  const [form] = parseForms(source);
  expect([shown(form), form?.start, form?.end]).toEqual([['custom', '"x"', ['y', ',', '[z]']], 1, source.length]);
});

test.each([
  ['(a', 'not closed'],
  ['(a))', 'closes nothing'],
  ['a', 'outside'],
  ['(; open', 'not closed'],
])('what is no script is an error: %s', (source, why) => {
  expect(() => parseForms(source)).toThrow(why);
});
