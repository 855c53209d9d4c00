import { expect, test } from 'vitest';
import { durationOf } from './option-values.ts';
import { pickById } from './pick-id.ts';

const ITEMS = [
  { id: '01M7JDC24J2GE7PBJZSNTZGNGK' },
  { id: '01M7JDC2607JPZ9F0ST8754TFP' },
  { id: '01M7JDC2607JPZ9F0ST875ATFP' },
];
const WORDS = { what: 'device', list: 'palyra device list' };

test('an id is found by itself, or by its last four characters in either case', () => {
  expect(pickById(ITEMS, '01M7JDC24J2GE7PBJZSNTZGNGK', WORDS)).toBe(ITEMS[0]);
  expect(pickById(ITEMS, 'gngk', WORDS)).toBe(ITEMS[0]);
  expect(pickById(ITEMS, '4TFP', WORDS)).toBe(ITEMS[1]);
});

test('too little, too much, nothing or several is an error with its way out', () => {
  for (const typed of ['NGK', '', 'XXXX', `0${ITEMS[0]?.id}`]) {
    expect(() => pickById(ITEMS, typed, WORDS)).toThrow(expect.objectContaining({ code: 'cli.not_found' }));
  }
  const same = [{ id: 'A1234' }, { id: 'B1234' }];
  expect(() => pickById(same, '1234', WORDS)).toThrow(expect.objectContaining({ code: 'cli.ambiguous_id' }));
});

test('a time is a number and a unit', () => {
  expect(['30s', '5m', '1h', '7d', undefined].map((typed) => durationOf(typed, '--ttl'))).toEqual([
    30_000,
    300_000,
    3_600_000,
    604_800_000,
    undefined,
  ]);
  for (const typed of ['', '1', 'h', '-1h', '1w', '1.5h']) {
    expect(() => durationOf(typed, '--ttl')).toThrow(expect.objectContaining({ code: 'cli.invalid_option' }));
  }
});
