import { expect, test } from 'vitest';
import { createTurns } from './turns.ts';

test('so many at once, the next in order, and no more than may wait', async () => {
  const turns = createTurns({ atOnce: 1, waiting: 2 });
  const order: string[] = [];
  const take = async (name: string) => {
    order.push(`${name} ${(await turns.take()) ? 'goes' : 'is refused'}`);
  };
  await take('first');
  const others = [take('second'), take('third'), take('fourth')];
  await others[2];
  turns.giveBack();
  // Whoever comes now comes behind those who wait, although a turn was just given back.
  const late = take('fifth');
  await others[0];
  turns.giveBack();
  await others[1];
  turns.giveBack();
  await late;
  expect(order).toEqual(['first goes', 'fourth is refused', 'second goes', 'third goes', 'fifth goes']);
  turns.giveBack();
  expect(turns.taken()).toBe(0);
});
