import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createPage, showCommand, showWithin, showWord } from './page.ts';

const text = fc.string({ unit: 'binary', maxLength: 300 }).map((any) => any.toWellFormed());

test('what has room is shown whole, and what has not takes no more room than told, but for the note', () => {
  fc.assert(
    fc.property(text, fc.nat({ max: 200 }), (any, most) => {
      const { text: shown, bytes, leftOut } = showWithin(any, most);
      expect(bytes).toBe(Buffer.byteLength(any));
      const note = `\\[${leftOut} ${leftOut === 1 ? 'byte' : 'bytes'} not shown]`;
      expect(shown.includes(note)).toBe(leftOut > 0);
      expect(shown.length).toBeLessThanOrEqual(most + (leftOut > 0 ? note.length : 0));
    }),
  );
});

test('a text is cut in the middle, between characters', () => {
  expect(showWithin('abcdefghi', 6)).toEqual({ text: 'abcd\\[3 bytes not shown]hi', bytes: 9, leftOut: 3 });
  expect(showWithin('\u{1F600}'.repeat(9), 5).text).toBe('\u{1F600}\u{1F600}\\[28 bytes not shown]');
});

test('the words of a command are cut one by one, and too many are counted', () => {
  expect(showCommand(['echo', 'a b'], 100)).toEqual({ text: "echo 'a b'", bytes: 8, leftOut: 0 });
  const long = showCommand(['sh', '-c', 'x'.repeat(1_000)], 200);
  expect(long.text).toMatch(/^sh -c 'x+\\\[\d+ bytes not shown]x+'$/);
  const many = showCommand(
    Array.from({ length: 10 }, (_, i) => `w${i}`),
    150,
  );
  expect(many).toEqual({ text: 'w0 w1 \\[7 words not shown] w9', bytes: 29, leftOut: 21 });
});

test('a name is quoted unless it is plain', () => {
  expect(showWord('src/a-b.ts', 100).text).toBe('src/a-b.ts');
  expect(showWord('it’s', 100).text).toBe(String.raw`'it\u{2019}s'`);
  expect(showWord('', 100).text).toBe("''");
});

test('a page knows how much had no room on it', () => {
  const page = createPage();
  expect(page.text('short')).toBe('short');
  expect(page.leftOut).toBe(0);
  page.name('x'.repeat(1_100));
  const lines = page.list(
    Array.from({ length: 66 }, () => 'y'),
    page.text,
    (note) => note,
  );
  expect(lines).toHaveLength(65);
  expect(lines.at(-1)).toBe('\\[2 more not shown]');
  expect(page.leftOut).toBeGreaterThan(100);
});

test('sentences keep their letters, and what stands beside other text does not', () => {
  const page = createPage();
  expect([page.prose('שלום'), page.text('שלום')]).toEqual(['שלום', String.raw`\u{5E9}\u{5DC}\u{5D5}\u{5DD}`]);
});
