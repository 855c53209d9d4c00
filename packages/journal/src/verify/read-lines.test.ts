import fc from 'fast-check';
import { expect, test } from 'vitest';
import { readLines, type TextChunks, type TextLine } from './read-lines.ts';

async function linesOf(chunks: TextChunks, maxLength = 1000): Promise<TextLine[]> {
  const lines: TextLine[] = [];
  for await (const line of readLines(chunks, maxLength)) lines.push(line);
  return lines;
}

test('lines are the same however the text was cut into pieces', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.constantFrom('a', 'bc', '\n', '', 'd\ne', '\n\n')), async (pieces) => {
      const whole = pieces.join('');
      const lines = await linesOf(pieces);
      expect(lines).toEqual(await linesOf(whole));
      expect(lines.map(({ text, ended }) => (ended ? `${text}\n` : text)).join('')).toBe(whole);
      expect(lines.map(({ number }) => number)).toEqual(lines.map((_, at) => at + 1));
    }),
  );
});

test('what stands behind the last newline is told apart', async () => {
  expect((await linesOf('a\nb')).map(({ ended }) => ended)).toEqual([true, false]);
  expect((await linesOf('a\nb\n')).map(({ ended }) => ended)).toEqual([true, true]);
  expect(await linesOf('')).toEqual([]);
});

test('a line that does not end is given up at its limit, before more of it is read', async () => {
  let asked = 0;
  function* endless() {
    for (;;) {
      asked += 1;
      yield 'x'.repeat(10);
    }
  }
  await expect(linesOf(endless(), 95)).rejects.toMatchObject({ code: 'journal.invalid_export' });
  expect(asked).toBe(10);
  expect(await linesOf(`${'x'.repeat(95)}\n`, 95)).toHaveLength(1);
});
