import { expect, test } from 'vitest';
import { toldId } from './told-id.ts';

test('only what can be the id of an approval is one', () => {
  expect(toldId('01J00000000000000000000000')).toBe('01J00000000000000000000000');
  for (const payload of ['', 'x', '01j00000000000000000000000', `01J${'0'.repeat(7_000)}`]) {
    expect(toldId(payload)).toBeUndefined();
  }
});
