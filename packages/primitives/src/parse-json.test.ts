import fc from 'fast-check';
import { expect, test } from 'vitest';
import { MAX_JSON_DEPTH } from './canonical-json.ts';
import { JsonTextError } from './json-cursor.ts';
import { parseJson } from './parse-json.ts';
import { PrimitivesError } from './primitives-error.ts';

const utf8 = (text: string): Uint8Array => new TextEncoder().encode(text);

/** What `JSON.parse` makes of a text, or the fact that it refuses it. */
function parsedByOthers(text: string): unknown {
  try {
    return { value: JSON.parse(text) };
  } catch {
    return 'refused';
  }
}

function parsedByUs(text: string): unknown {
  try {
    return { value: parseJson(text) };
  } catch (error) {
    if (error instanceof PrimitivesError) return error.code === 'primitives.json_syntax' ? 'refused' : error.code;
    throw error;
  }
}

test.each([
  'null',
  ' true ',
  '\t\r\n false\n',
  '0',
  '-0',
  '-1.5e+3',
  '1E30',
  '9007199254740991',
  '-9007199254740991',
  '9007199254740993.0',
  '1e-400',
  '""',
  String.raw`"\"\\\/\b\f\n\r\t\u00e9\uD83D\uDE00"`,
  '"\u2028\u007f\u0080😀"',
  '[]',
  '[1,[2,[]],{}]',
  '{"a":{"b":[null]},"":0}',
])('valid text is read as by JSON.parse: %s', (text) => {
  expect({ fromText: parseJson(text), fromBytes: parseJson(utf8(text)) }).toEqual({
    fromText: JSON.parse(text),
    fromBytes: JSON.parse(text),
  });
});

test('whatever JSON.stringify writes is read as by JSON.parse, pretty-printed or not', () => {
  fc.assert(
    fc.property(fc.json({ stringUnit: 'grapheme' }), fc.constantFrom('', ' ', '\t', '\r\n'), (text, indent) => {
      const pretty = JSON.stringify(JSON.parse(text), null, indent);
      expect(parseJson(pretty, { largeIntegers: 'nearest' })).toEqual(JSON.parse(pretty));
      expect(parseJson(utf8(pretty), { largeIntegers: 'nearest' })).toEqual(JSON.parse(pretty));
    }),
  );
});

test('text made of pieces of JSON is read as by JSON.parse, or refused for a reason of ours', () => {
  const piece = fc.constantFrom(
    '{',
    '}',
    '[',
    ']',
    ',',
    ':',
    '"',
    '"a"',
    '"b"',
    '\\',
    '\\u0061',
    '\\n',
    ' ',
    '\n',
    '\t',
    '-',
    '0',
    '1',
    '.5',
    'e',
    'E+2',
    'true',
    'null',
    'nul',
    'fals',
    '\u0000',
    '\u00a0',
    '\ufeff',
    '/',
    '//',
    "'",
    'é',
    '+',
    'NaN',
  );
  const ours = new Set(['primitives.json_duplicate_key', 'primitives.json_number_range']);
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 12 }), (pieces) => {
      const text = pieces.join('');
      const result = parsedByUs(text);
      fc.pre(!ours.has(String(result)));
      expect(result).toEqual(parsedByOthers(text));
    }),
    { numRuns: 5_000 },
  );
});

test('one changed character in valid text never makes us accept what JSON.parse refuses', () => {
  fc.assert(
    fc.property(fc.json(), fc.nat(), fc.string({ unit: 'binary-ascii', maxLength: 1 }), (text, at, replacement) => {
      const offset = at % text.length;
      const changed = text.slice(0, offset) + replacement + text.slice(offset + 1);
      const result = parsedByUs(changed);
      fc.pre(typeof result === 'object');
      expect(result).toEqual(parsedByOthers(changed));
    }),
  );
});

test.each([
  ['', 'a value', 0, 1, 1],
  ['  ', 'a value', 2, 1, 3],
  ['nul', 'a value', 0, 1, 1],
  ['[1,]', 'a value', 3, 1, 4],
  ['[1 2]', 'a comma or a closing bracket', 3, 1, 4],
  ['[01]', 'a comma or a closing bracket', 2, 1, 3],
  ['{"a":1,}', 'a string', 7, 1, 8],
  ["{'a':1}", 'a string', 1, 1, 2],
  ['{"a" 1}', 'a colon', 5, 1, 6],
  ['{\n  "a": 1\n  "b": 2}', 'a comma or a closing brace', 13, 3, 3],
  ['"a\nb"', 'a closing quote or an escaped character', 2, 1, 3],
  ['"abc', 'a closing quote or an escaped character', 4, 1, 5],
  [String.raw`"\x"`, 'a known escape', 2, 1, 3],
  [String.raw`"\u12g4"`, 'a known escape', 2, 1, 3],
  ['"\\', 'a known escape', 2, 1, 3],
  ['1 2', 'the end', 2, 1, 3],
  ['+1', 'a value', 0, 1, 1],
  ['.5', 'a value', 0, 1, 1],
  ['1.', 'the end', 1, 1, 2],
  ['NaN', 'a value', 0, 1, 1],
  ['// c\n1', 'a value', 0, 1, 1],
  ['\u00a01', 'a value', 0, 1, 1],
  ['\ufeff1', 'a value without a byte order mark before it', 0, 1, 1],
])('%j is refused because %s was expected', (text, expected, offset, line, column) => {
  expect(() => parseJson(text)).toThrow(
    expect.objectContaining({
      code: 'primitives.json_syntax',
      message: `The text is not JSON: ${expected} was expected at line ${line}, column ${column} (offset ${offset}).`,
      position: { offset, line, column },
    }),
  );
  expect(() => parseJson(text)).toThrow(JsonTextError);
});

test.each(['{"a":1,"a":1}', String.raw`{"a":1,"\u0061":2}`, '{"__proto__":1,"__proto__":2}', '{"x":{"":1, "":2}}'])(
  'a key that appears twice is refused: %s',
  (text) => {
    expect(() => parseJson(text)).toThrow(expect.objectContaining({ code: 'primitives.json_duplicate_key' }));
  },
);

test('the error names the place of the second key', () => {
  expect(() => parseJson('{\n "a": 1,\n "b": 2,\n "a": 3\n}')).toThrow(
    'An object repeats the key at line 4, column 2 (offset 21).',
  );
});

test('the same key in different objects is fine', () => {
  expect(parseJson('[{"a":1},{"a":{"a":2}}]')).toEqual([{ a: 1 }, { a: { a: 2 } }]);
});

test.each([
  String.raw`"\ud800"`,
  String.raw`"\udc00\ud800"`,
  String.raw`{"\ud83d":1}`,
  '"\ud83d"',
  String.raw`"\ud83dx\ude00"`,
])('half a surrogate pair is refused: %j', (text) => {
  expect(() => parseJson(text)).toThrow(expect.objectContaining({ code: 'primitives.json_lone_surrogate' }));
});

test.each(['9007199254740992', '-9007199254740992', '9007199254740993', '100000000000000000000', '1'.repeat(400)])(
  'the integer %s is refused, because programs disagree about it',
  (text) => {
    expect(() => parseJson(`[${text}]`)).toThrow(
      expect.objectContaining({ code: 'primitives.json_number_range', position: { offset: 1, line: 1, column: 2 } }),
    );
  },
);

test('large integers can be read as the nearest number where that is wanted', () => {
  expect(parseJson('[9007199254740993,-100000000000000000000]', { largeIntegers: 'nearest' })).toEqual([
    2 ** 53,
    -1e20,
  ]);
});

test.each(['1e309', '-1e309', `1${'0'.repeat(309)}.0`])('the number %s overflows and is refused', (text) => {
  for (const largeIntegers of ['refuse', 'nearest'] as const) {
    expect(() => parseJson(text, { largeIntegers })).toThrow(
      expect.objectContaining({ code: 'primitives.json_number_range' }),
    );
  }
});

test.each([
  ['a lone continuation byte', [0x22, 0x80, 0x22]],
  ['an overlong slash', [0x22, 0xc0, 0xaf, 0x22]],
  ['an encoded surrogate', [0x22, 0xed, 0xa0, 0x80, 0x22]],
  ['a character above U+10FFFF', [0x22, 0xf4, 0x90, 0x80, 0x80, 0x22]],
  ['a character cut short', [0x22, 0xe2, 0x82, 0x22]],
])('bytes with %s are refused', (_what, bytes) => {
  expect(() => parseJson(Uint8Array.from(bytes))).toThrow(
    expect.objectContaining({ code: 'primitives.json_invalid_utf8', message: 'The JSON text is not valid UTF-8.' }),
  );
});

test('a byte order mark is refused in bytes too', () => {
  expect(() => parseJson(Uint8Array.of(0xef, 0xbb, 0xbf, 0x31))).toThrow(
    expect.objectContaining({ code: 'primitives.json_syntax' }),
  );
});

test('the depth limit counts arrays and objects alike, and depth goes down again', () => {
  expect(parseJson('[{"a":[]},{"a":[]}]', { maxDepth: 3 })).toEqual([{ a: [] }, { a: [] }]);
  expect(() => parseJson('[{"a":[]},{"a":[[]]}]', { maxDepth: 3 })).toThrow(
    expect.objectContaining({
      code: 'primitives.json_too_deep',
      message: 'Arrays and objects are nested deeper than 3 levels at line 1, column 17 (offset 16).',
    }),
  );
});

test('no caller can raise the depth above what the stack holds', () => {
  const text = '['.repeat(MAX_JSON_DEPTH + 1);
  expect(() => parseJson(text, { maxDepth: Number.POSITIVE_INFINITY })).toThrow(
    expect.objectContaining({ code: 'primitives.json_too_deep' }),
  );
});

test('text over the size limit is refused unread', () => {
  for (const input of ['"abc"', utf8('"abc"')]) {
    expect(parseJson(input, { maxLength: 5 })).toBe('abc');
    expect(() => parseJson(input, { maxLength: 4 })).toThrow(
      expect.objectContaining({ code: 'primitives.json_too_large' }),
    );
  }
});

test('names that objects inherit are plain own data', () => {
  const text = '{"__proto__":{"polluted":1},"constructor":{"prototype":2},"toString":3,"hasOwnProperty":4}';
  const value = parseJson(text) as Record<string, unknown>;
  expect(Object.getPrototypeOf(value)).toBe(Object.prototype);
  expect(Object.entries(value)).toEqual([
    ['__proto__', { polluted: 1 }],
    ['constructor', { prototype: 2 }],
    ['toString', 3],
    ['hasOwnProperty', 4],
  ]);
});
