import { expect, test } from 'vitest';
import { createOutputCredit, OUTPUT_WINDOW } from './output-credit.ts';

function watched() {
  const said: number[] = [];
  return { said, consume: createOutputCredit(() => ({ allow: (bytes) => said.push(bytes) })) };
}

test('a few bytes are owed, and nothing is said of them', () => {
  const { said, consume } = watched();
  for (let times = 0; times < 100; times += 1) consume(100);
  expect(said).toEqual([]);
});

test('all that was consumed is allowed again, and most of the window is left meanwhile', () => {
  const { said, consume } = watched();
  let consumed = 0;
  for (const bytes of Array.from({ length: 1000 }, (_, at) => (at * 7919) % 65_536)) {
    consumed += bytes;
    consume(bytes);
    const allowed = said.reduce((sum, each) => sum + each, 0);
    expect(consumed - allowed).toBeLessThan(OUTPUT_WINDOW / 4);
    expect(allowed).toBeLessThanOrEqual(consumed);
  }
});
