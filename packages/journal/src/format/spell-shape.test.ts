import { canonicalJson, type JsonValue } from '@palyra/primitives/browser';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { attestationFields } from './attestation-fields.ts';
import {
  boolean,
  type Check,
  choice,
  count,
  integer,
  list,
  name,
  object,
  optional,
  record,
  text,
} from './check-shape.ts';
import { spellWith } from './spell-shape.ts';

interface Thing {
  readonly tool: string;
  readonly seq: number;
  readonly at?: number;
  readonly kind: 'deny' | 'a"b';
  readonly isOpen?: boolean;
  readonly words: readonly string[];
  readonly limits: Readonly<Record<string, number>>;
  readonly inner?: { readonly z: string; readonly a?: number };
  readonly own?: object;
}

/** A rule that writes nothing itself. */
const own: Check<object> = (value, fault): value is object => {
  fault.reason = 'is 7';
  return value !== 7;
};

const thing = object<Thing>({
  tool: name,
  seq: count,
  at: optional(integer),
  kind: choice('deny', 'a"b'),
  isOpen: optional(boolean),
  words: list(text),
  limits: record(count),
  inner: optional(object<NonNullable<Thing['inner']>>({ z: text, a: optional(integer) })),
  own: optional(own),
});

const spell = spellWith(thing);

const words = fc.oneof(fc.string({ minLength: 1 }), fc.string({ unit: 'binary', minLength: 1 }));
const valid = fc.record(
  {
    tool: fc.constantFrom('palyra.echo', 'a', 'process.run'),
    seq: fc.nat(),
    at: fc.maxSafeInteger().map((number) => (number === 0 ? 0 : number)),
    kind: fc.constantFrom('deny', 'a"b'),
    isOpen: fc.boolean(),
    words: fc.array(words.filter((each) => each.isWellFormed())),
    limits: fc.dictionary(fc.stringMatching(/^[a-z][a-z0-9_]{0,5}$/), fc.nat()),
    inner: fc.record({ z: fc.string({ minLength: 1 }), a: fc.integer() }, { requiredKeys: ['z'] }),
    own: fc.jsonValue().filter((value) => value !== 7),
  },
  { requiredKeys: ['tool', 'seq', 'kind', 'words', 'limits'] },
);

function isAllowed(value: unknown, check: Check<unknown>): boolean {
  return check(value, { path: [], reason: '' });
}

function writtenOnce(value: unknown, by: (value: unknown) => string | undefined): string | undefined {
  try {
    return by(value);
  } catch {
    return undefined;
  }
}

describe('what obeys a rule', () => {
  test('is spelled byte for byte as canonical JSON spells it', () => {
    fc.assert(
      fc.property(valid, (value) => {
        expect(spell(value)).toBe(canonicalJson(value as JsonValue));
      }),
    );
  });

  test('is spelled the same whatever the order of its fields', () => {
    fc.assert(
      fc.property(valid, (value) => {
        expect(spell(Object.fromEntries(Object.entries(value).toReversed()))).toBe(spell(value));
      }),
    );
  });
});

/** Of length 2, with nothing in front. */
function withHole(): readonly string[] {
  const items: string[] = [];
  items[1] = 'w';
  return items;
}

const hidden = Object.defineProperty({}, 'a', { value: 1, enumerable: false });
const STRANGE: readonly unknown[] = [
  undefined,
  null,
  -0,
  NaN,
  2 ** 53,
  '',
  '\ud800',
  Symbol('s'),
  1n,
  () => 1,
  new Date(0),
  withHole(),
  Object.assign(['x'], { more: 1 }),
  { [Symbol('s')]: 1 },
  hidden,
  new Map([['a', 1]]),
  Object.create({ tool: 'x' }),
];

describe('what does not', () => {
  test('is never spelled unless canonical JSON and the rule take it, and then as they do', () => {
    const anything = fc.oneof(fc.anything(), fc.constantFrom(...STRANGE));
    const changed = fc
      .tuple(
        valid,
        fc.constantFrom('tool', 'seq', 'at', 'kind', 'isOpen', 'words', 'limits', 'inner', 'own', 'more'),
        anything,
      )
      .map(([value, field, strange]) => ({ ...value, [field]: strange }));
    fc.assert(
      fc.property(fc.oneof(changed, anything), (value) => {
        const spelled = writtenOnce(value, spell);
        if (spelled === undefined) return;
        expect(spelled).toBe(canonicalJson(value as JsonValue));
        expect(isAllowed(value, thing)).toBe(true);
      }),
      { numRuns: 500 },
    );
  });

  const good = { tool: 'a', seq: 1, kind: 'deny', words: ['w'], limits: { cpu_ms: 1 } };
  const withGetter = (at: object, key: string) =>
    Object.defineProperty(at, key, { get: () => expect.unreachable(), enumerable: true, configurable: true });
  test.for([
    ['a getter', withGetter({ ...good }, 'tool')],
    ['a getter in a record', { ...good, limits: withGetter({}, 'cpu_ms') }],
    ['a getter in a list', { ...good, words: withGetter(['w'], '0') }],
    ['a field that cannot be listed', Object.defineProperty({ ...good }, 'at', { value: 1, enumerable: false })],
    [
      'an unknown field that cannot be listed',
      Object.defineProperty({ ...good }, 'x', { value: 1, enumerable: false }),
    ],
    ['a symbol', { ...good, [Symbol('s')]: 1 }],
    ['a field as undefined', { ...good, at: undefined }],
    ['a hole', { ...good, words: withHole() }],
    ['a list with more than its items', { ...good, words: Object.assign(['w'], { more: 1 }) }],
    ['an instance', Object.assign(Object.create({ inherited: 1 }) as object, good)],
    ['a field too few', { tool: 'a', seq: 1, kind: 'deny', words: [] }],
    ['a field too many', { ...good, more: 1 }],
  ] as const)('%s is left to those who say what is wrong', ([, value]) => {
    expect(spell(good)).toBe(canonicalJson(good));
    expect(spell(value)).toBeUndefined();
  });
});

test('the fields of an attestation are spelled by their table, each of them', () => {
  expect(attestationFields.spell).toBeDefined();
});
