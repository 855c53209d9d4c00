import { describe, expect, test } from 'vitest';
import { JournalError } from '../journal-error.ts';
import {
  boolean,
  type Check,
  checkShape,
  choice,
  count,
  integer,
  list,
  matching,
  object,
  optional,
  record,
  text,
} from './check-shape.ts';

interface Parcel {
  readonly kind: 'box' | 'bag';
  readonly weight: number;
  readonly fragile?: boolean;
  readonly labels: readonly string[];
  readonly inner?: { readonly depth: number };
  readonly facts?: Readonly<Record<string, number>>;
}

const parcel: Check<Parcel> = object<Parcel>({
  kind: choice('box', 'bag'),
  weight: count,
  fragile: optional(boolean),
  labels: list(matching(/^[a-z]+$/, 'a label')),
  inner: optional(object<{ readonly depth: number }>({ depth: integer })),
  facts: optional(record(count)),
});

const SMALL = { kind: 'box', weight: 0, labels: [] };
const WHOLE = { ...SMALL, fragile: false, labels: ['a', 'b'], inner: { depth: -1 }, facts: { a: 1, b_2: 2 } };

function faultOf(value: unknown, check: Check<unknown> = parcel): string {
  try {
    checkShape(value, check, (sentence) => new JournalError('journal.invalid_entry', sentence));
    return '';
  } catch (error) {
    return (error as JournalError).message;
  }
}

test('a value of the shape comes back as it is', () => {
  const invalid = (sentence: string) => new JournalError('journal.invalid_entry', sentence);
  expect(checkShape(SMALL, parcel, invalid)).toBe(SMALL);
  expect(checkShape(WHOLE, parcel, invalid)).toBe(WHOLE);
});

test.for([
  ['no object', null, 'The whole is not an object.'],
  ['a list instead', [], 'The whole is not an object.'],
  ['an unknown field', { ...SMALL, colour: 'red' }, '"colour" is unknown.'],
  ['a field of every object', { ...SMALL, toString: 1 }, '"toString" is unknown.'],
  ['a missing field', { kind: 'box', labels: [] }, '"weight" is missing.'],
  ['an inherited field', Object.create(SMALL), '"kind" is missing.'],
  ['a word that is none of the choice', { ...SMALL, kind: 'sack' }, '"kind" is not one of: box, bag.'],
  ['an optional field as undefined', { ...SMALL, fragile: undefined }, '"fragile" is neither true nor false.'],
  ['a negative count', { ...SMALL, weight: -1 }, '"weight" is not a count.'],
  ['a negative zero', { ...SMALL, weight: -0 }, '"weight" is not a count.'],
  ['a count beyond 2^53', { ...SMALL, weight: 2 ** 53 }, '"weight" is not a count.'],
  ['half a thing', { ...WHOLE, inner: { depth: 0.5 } }, '"inner/depth" is not a whole number.'],
  ['a bad item, by its place', { ...SMALL, labels: ['a', 'B'] }, '"labels/1" is not a label.'],
  ['text for a list', { ...SMALL, labels: 'ab' }, '"labels" is not a list.'],
  ['a long list', { ...SMALL, labels: Array(1025).fill('a') }, '"labels" has more than 1024 items.'],
  ['a bad fact', { ...WHOLE, facts: { a: 1, b: 'x' } }, '"facts/b" is not a count.'],
  [
    'a fact named to deceive',
    { ...WHOLE, facts: { 'a\u202eb': 1 } },
    '"facts/a\\u{202E}b" is not a name of lower-case letters and digits.',
  ],
  [
    'a fact named as the prototype',
    { ...WHOLE, facts: JSON.parse('{"__proto__":1}') as object },
    '"facts/__proto__" is not a name of lower-case letters and digits.',
  ],
  [
    'too many facts',
    { ...WHOLE, facts: Object.fromEntries(Array.from({ length: 1025 }, (_, at) => [`f${at}`, 1])) },
    '"facts" has more than 1024 fields.',
  ],
] as const)('%s is refused, and the place is named', ([, value, sentence]) => {
  expect(faultOf(value)).toBe(sentence);
});

describe('any text', () => {
  test('has 1 to 4096 characters', () => {
    expect(faultOf('x'.repeat(4096), text)).toBe('');
    expect(faultOf('x'.repeat(4097), text)).toBe('The whole is not a text of 1 to 4096 characters.');
    expect(faultOf('', text)).toBe('The whole is not a text of 1 to 4096 characters.');
  });

  test('is made of whole characters', () => {
    expect(faultOf('\ud83d\ude00', text)).toBe('');
    expect(faultOf('\ud83d', text)).not.toBe('');
  });
});
