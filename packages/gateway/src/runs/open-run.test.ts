import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createBudget } from './open-run.ts';

test('never more calls are counted and held than there may be, whatever is done with them', () => {
  const act = fc.constantFrom('reserve', 'count', 'free', 'count twice');
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 5 }), fc.array(act, { maxLength: 40 }), (most, acts) => {
      const budget = createBudget(most, { used: 0, refused: 0 });
      const held: NonNullable<ReturnType<typeof budget.reserve>>[] = [];
      let counted = 0;
      const surprises: string[] = [];
      for (const each of acts) {
        if (each === 'reserve') {
          const reservation = budget.reserve();
          if ((reservation === undefined) !== counted + held.length >= most) surprises.push(each);
          if (reservation !== undefined) held.push(reservation);
          continue;
        }
        const reservation = held.shift();
        if (reservation === undefined) continue;
        if (each !== 'free') counted += 1;
        reservation[each === 'free' ? 'free' : 'count']();
        if (each === 'count twice') reservation.count();
        reservation.free();
      }
      expect([budget.used(), surprises]).toEqual([counted, []]);
    }),
  );
});

test('what was used before a restart counts', () => {
  const budget = createBudget(2, { used: 2, refused: 1 });
  expect([budget.reserve(), budget.used(), budget.refused()]).toEqual([undefined, 2, 1]);
});
