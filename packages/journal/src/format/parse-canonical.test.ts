import { canonicalJson, type JsonValue, parseJson } from '@palyra/primitives/browser';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { parseCanonical } from './parse-canonical.ts';

test('every value is read back from its canonical text', () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      const spelled = canonicalOf(value as JsonValue);
      fc.pre(spelled !== undefined);
      const found = parseCanonical(spelled);
      expect(found === undefined ? undefined : canonicalJson(found)).toBe(spelled);
    }),
  );
});

test('a text is read exactly when the strict parser and the canonical writer together give it back', () => {
  const mutated = fc
    .tuple(fc.json(), fc.nat(), fc.constantFrom('', ' ', '0', '"', '1e0', ',', '\\u0061', '\\ud800', '-', '{}'))
    .map(([json, at, put]) => {
      const canonical = canonicalOf(JSON.parse(json) as JsonValue) ?? json;
      const place = at % (canonical.length + 1);
      return canonical.slice(0, place) + put + canonical.slice(place);
    });
  fc.assert(
    fc.property(fc.oneof(mutated, fc.json()), (text) => {
      expect(parseCanonical(text) !== undefined).toBe(isCanonical(text));
    }),
    { numRuns: 2000 },
  );
});

test.for([
  ['a key twice', '{"a":1,"a":1}', false],
  ['keys out of order', '{"b":1,"a":1}', false],
  ['keys out of order below', '[{"x":{"b":1,"a":1}}]', false],
  ['a space', '{"a": 1}', false],
  ['an escape too many', '"\\u0061"', false],
  ['half a surrogate pair', '"\\ud800"', false],
  ['a backslash before what looks like one', '"\\\\ud800"', true],
  ['keys that are numbers, in the order of text', '{"10":1,"9":1}', true],
  ['keys that are numbers, in the order of numbers', '{"9":1,"10":1}', false],
  ['a negative zero', '-0', false],
  ['an exponent', '1e3', false],
  ['a number that does not survive', '9007199254740993', false],
  ['the prototype as a key', '{"__proto__":1}', true],
  ['more depth than there may be', `${'['.repeat(1025)}${']'.repeat(1025)}`, false],
  ['just as much as there may be', `${'['.repeat(1024)}${']'.repeat(1024)}`, true],
  ['no end of depth', '['.repeat(1_000_000), false],
] as const)('%s', ([, text, expected]) => {
  expect(parseCanonical(text) !== undefined).toBe(expected);
});

function canonicalOf(value: JsonValue): string | undefined {
  try {
    return canonicalJson(value);
  } catch {
    return undefined;
  }
}

function isCanonical(text: string): boolean {
  try {
    return canonicalJson(parseJson(text, { largeIntegers: 'nearest' })) === text;
  } catch {
    return false;
  }
}
