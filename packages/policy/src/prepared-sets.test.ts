import { expect, test } from 'vitest';
import { createPreparedSets, takeSchemaSlot } from './prepared-sets.ts';

const POLICY = [{ id: 'p', text: 'permit(principal, action, resource);' }];

function slotName(sets: ReturnType<typeof createPreparedSets>, key: string): string {
  const answer = sets.slotOf(key, () => POLICY);
  if (answer.kind === 'failed') throw new Error(answer.problems[0]?.message);
  return answer.slot.name;
}

test('a set is parsed once, and the one used longest ago makes room', () => {
  const sets = createPreparedSets({ mostSets: 2, mostPolicies: 10 });
  const [a, b] = [slotName(sets, 'a'), slotName(sets, 'b')];
  expect(slotName(sets, 'a')).toBe(a);
  expect(slotName(sets, 'c')).toBe(b);
  let isParsedAgain = false;
  sets.slotOf('a', () => {
    isParsedAgain = true;
    return POLICY;
  });
  expect(isParsedAgain).toBe(false);
  sets.close();
});

test('the number of policies held is limited too', () => {
  const sets = createPreparedSets({ mostSets: 9, mostPolicies: 1 });
  expect(slotName(sets, 'b')).toBe(slotName(sets, 'a'));
  sets.close();
});

test('names are used again by the next owner', () => {
  const first = createPreparedSets();
  const name = slotName(first, 'a');
  first.close();
  const second = createPreparedSets();
  expect(slotName(second, 'a')).toBe(name);
  second.close();
});

test('policies that do not parse take no slot', () => {
  const sets = createPreparedSets();
  expect(sets.slotOf('bad', () => [{ id: 'p', text: 'permit(' }]).kind).toBe('failed');
  sets.close();
});

test('one schema is parsed once, and a free place is used again', () => {
  const name = (schema: string) => {
    const answer = takeSchemaSlot(schema);
    if (answer.kind === 'failed') throw new Error(answer.problems[0]?.message);
    return answer.slot;
  };
  const [one, same, other] = [name('entity A;'), name('entity A;'), name('entity B;')];
  expect([same.name === one.name, other.name === one.name]).toEqual([true, false]);
  one.release();
  same.release();
  expect(takeSchemaSlot('entity ;').kind).toBe('failed');
  expect(name('entity C;').name).toBe(one.name);
});
