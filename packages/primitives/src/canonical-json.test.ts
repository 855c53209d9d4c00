import { readdirSync, readFileSync } from 'node:fs';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { canonicalJson, canonicalJsonBytes, type JsonValue, MAX_JSON_DEPTH } from './canonical-json.ts';
import { parseJson } from './parse-json.ts';
import { Secret } from './secret.ts';

const VECTORS = new URL('../../../tests/vectors/jcs/', import.meta.url);

/** Canonical text of something the type would refuse. */
const canonicalOf = (value: unknown): string => canonicalJson(value as JsonValue);

const plainValue: fc.Arbitrary<JsonValue> = fc.jsonValue({ stringUnit: 'grapheme' }) as fc.Arbitrary<JsonValue>;

test.each(readdirSync(new URL('input/', VECTORS)))('the published vector %s comes out byte for byte', (name) => {
  const value = parseJson(readFileSync(new URL(`input/${name}`, VECTORS)));
  expect(Buffer.from(canonicalJsonBytes(value))).toEqual(readFileSync(new URL(`output/${name}`, VECTORS)));
});

/** RFC 8785, appendix B: IEEE 754 bits and their only spelling. */
test.each([
  ['0000000000000000', '0'],
  ['8000000000000000', '0'],
  ['0000000000000001', '5e-324'],
  ['8000000000000001', '-5e-324'],
  ['7fefffffffffffff', '1.7976931348623157e+308'],
  ['ffefffffffffffff', '-1.7976931348623157e+308'],
  ['4340000000000000', '9007199254740992'],
  ['c340000000000000', '-9007199254740992'],
  ['4430000000000000', '295147905179352830000'],
  ['44b52d02c7e14af5', '9.999999999999997e+22'],
  ['44b52d02c7e14af6', '1e+23'],
  ['44b52d02c7e14af7', '1.0000000000000001e+23'],
  ['444b1ae4d6e2ef4e', '999999999999999700000'],
  ['444b1ae4d6e2ef4f', '999999999999999900000'],
  ['444b1ae4d6e2ef50', '1e+21'],
  ['3eb0c6f7a0b5ed8c', '9.999999999999997e-7'],
  ['3eb0c6f7a0b5ed8d', '0.000001'],
  ['41b3de4355555553', '333333333.3333332'],
  ['41b3de4355555554', '333333333.33333325'],
  ['41b3de4355555555', '333333333.3333333'],
  ['41b3de4355555556', '333333333.3333334'],
  ['41b3de4355555557', '333333333.33333343'],
  ['becbf647612f3696', '-0.0000033333333333333333'],
  ['43143ff3c1cb0959', '1424953923781206.2'],
])('the number %s is written %s', (bits, expected) => {
  expect(canonicalJson(Buffer.from(bits, 'hex').readDoubleBE())).toBe(expected);
});

test('keys are sorted by UTF-16 code units (RFC 8785, section 3.2.3)', () => {
  const value = parseJson(String.raw`{
    "\u20ac": "Euro Sign", "\r": "Carriage Return", "\ufb33": "Hebrew Letter Dalet With Dagesh", "1": "One",
    "\ud83d\ude00": "Emoji: Grinning Face", "\u0080": "Control", "\u00f6": "Latin Small Letter O With Diaeresis"
  }`);
  expect(canonicalJson(value)).toBe(
    '{"\\r":"Carriage Return","1":"One","\u0080":"Control","\u00f6":"Latin Small Letter O With Diaeresis",' +
      '"\u20ac":"Euro Sign","\ud83d\ude00":"Emoji: Grinning Face","\ufb33":"Hebrew Letter Dalet With Dagesh"}',
  );
});

test('the complete example of RFC 8785 comes out as its 118 bytes', () => {
  const value = parseJson(String.raw`{
    "numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
    "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/",
    "literals": [null, true, false]
  }`);
  expect(Buffer.from(canonicalJsonBytes(value)).toString('hex')).toBe(
    '7b226c69746572616c73223a5b6e756c6c2c747275652c66616c73655d2c226e756d62657273223a5b3333333333333333332e333333333333' +
      '332c31652b33302c342e352c302e3030322c31652d32375d2c22737472696e67223a22e282ac245c75303030665c6e4127425c225c5c5c5c' +
      '5c222f227d',
  );
});

test('whatever is written is read back as the same value', () => {
  fc.assert(
    fc.property(plainValue, (value) => {
      const text = canonicalJson(value);
      const again = parseJson(text, { largeIntegers: 'nearest' });
      // JSON has one zero, so only the text is compared where -0 might be.
      expect(canonicalJson(again)).toBe(text);
      expect(again).toEqual(JSON.parse(JSON.stringify(value)));
    }),
  );
});

test('the order in which keys were added does not matter', () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string({ unit: 'grapheme' }), fc.integer(), { noNullPrototype: true }), (object) => {
      const reversed = Object.fromEntries(Object.entries(object).toReversed());
      expect(canonicalJson(reversed)).toBe(canonicalJson(object));
    }),
  );
});

test('objects without a prototype and keys such as __proto__ are plain data', () => {
  const value = Object.assign(Object.create(null), { constructor: 1 });
  Object.defineProperty(value, '__proto__', { value: { a: 2 }, enumerable: true });
  expect(canonicalOf(value)).toBe('{"__proto__":{"a":2},"constructor":1}');
});

test('the same object may appear twice, as long as it does not contain itself', () => {
  const shared = { a: 1 };
  expect(canonicalJson([shared, shared])).toBe('[{"a":1},{"a":1}]');
});

function circular(): object {
  const value: Record<string, unknown> = {};
  value['self'] = [value];
  return value;
}

function nest(depth: number): JsonValue {
  let value: JsonValue = [];
  for (let level = 1; level < depth; level += 1) value = [value];
  return value;
}

class Point {
  readonly x = 1;
}

const hiddenProperty = Object.defineProperty({}, 'a', { value: 1, enumerable: false });

const getterOnly = {
  get a(): number {
    throw new Error('the getter ran');
  },
};

test.each([
  ['undefined', undefined, 'The value at the top is of type undefined.'],
  ['an undefined member', { a: { b: undefined } }, 'The value at /a/b is of type undefined.'],
  ['a function', [() => 1], 'The value at /0 is of type function.'],
  ['a symbol', Symbol('s'), 'The value at the top is of type symbol.'],
  ['a bigint', { a: 1n }, 'The value at /a is of type bigint.'],
  ['a symbol key', { [Symbol('s')]: 1 }, 'The value at the top has a symbol as a key.'],
  ['a cycle', circular(), 'The value at /self/0 contains itself.'],
  ['a hole', Array(2), 'The value at the top is not a plain array without holes.'],
  [
    'an array with a property',
    Object.assign([1], { a: 2 }),
    'The value at the top is not a plain array without holes.',
  ],
  ['a hole made up for by a property', Object.assign(Array(1), { a: 2 }), 'The value at /0 is not a plain property.'],
  ['a date', new Date(0), 'The value at the top is not a plain object.'],
  ['a map', new Map(), 'The value at the top is not a plain object.'],
  ['bytes', new Uint8Array(1), 'The value at the top is not a plain object.'],
  ['a boxed string', Object('a'), 'The value at the top is not a plain object.'],
  ['an instance', new Point(), 'The value at the top is not a plain object.'],
  ['a secret', { key: new Secret('hunter2') }, 'The value at /key is not a plain object.'],
  ['a toJSON method', { toJSON: () => 1 }, 'The value at /toJSON is of type function.'],
  ['a getter', getterOnly, 'The value at /a is not a plain property.'],
  ['a hidden property', hiddenProperty, 'The value at /a is not a plain property.'],
  ['a key that would forge the message', { 'x\n\u202Efix:': 1n }, 'The value at /x\\n\\u{202E}fix: is of type bigint.'],
])('%s is refused, and the message says where', (_what, value, message) => {
  expect(() => canonicalOf(value)).toThrow(expect.objectContaining({ code: 'primitives.not_json', message }));
});

test.each([Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY])('%s is refused', (value) => {
  expect(() => canonicalJson({ n: [value] })).toThrow(
    expect.objectContaining({
      code: 'primitives.json_number_range',
      message: 'The number at /n/0 is not finite.',
    }),
  );
});

test.each(['\ud800', 'a\udc00', '\udc00\ud800'])('half a surrogate pair is refused as text and as key (%j)', (text) => {
  for (const value of [text, { [text]: 1 }]) {
    expect(() => canonicalJson(value)).toThrow(expect.objectContaining({ code: 'primitives.json_lone_surrogate' }));
  }
});

test('an own toJSON that is data is data, and one that is inherited is never called', () => {
  expect(canonicalOf({ toJSON: 1 })).toBe('{"toJSON":1}');
});

test('nesting is bounded, so no value can end the stack', () => {
  expect(canonicalJson(nest(MAX_JSON_DEPTH))).toBe('['.repeat(MAX_JSON_DEPTH) + ']'.repeat(MAX_JSON_DEPTH));
  expect(() => canonicalJson(nest(MAX_JSON_DEPTH + 1))).toThrow(
    expect.objectContaining({ code: 'primitives.json_too_deep' }),
  );
  expect(() => canonicalJson(nest(100_000))).toThrow(expect.objectContaining({ code: 'primitives.json_too_deep' }));
});
