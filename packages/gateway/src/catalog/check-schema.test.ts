import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { asSentence, checkSchema } from './check-schema.ts';
import type { InputSchema, ObjectSchema } from './input-schema.ts';

const SCHEMA: ObjectSchema = {
  type: 'object',
  properties: {
    name: { type: 'string', minLength: 1, maxLength: 4, pattern: '^[a-z😀]*$' },
    kind: { type: 'string', enum: ['one', 'two'] },
    count: { type: 'integer', minimum: -1, maximum: 9 },
    is_new: { type: 'boolean' },
    words: { type: 'array', items: { type: 'string', maxLength: 2 }, minItems: 1, maxItems: 2 },
    variables: {
      type: 'object',
      additionalProperties: { type: 'string', maxLength: 3 },
      propertyNames: { pattern: '^[A-Z]+$' },
      maxProperties: 2,
    },
  },
  required: ['name'],
  additionalProperties: false,
};

const say = (value: unknown) => {
  const found = checkSchema(SCHEMA, value);
  return found === undefined ? undefined : asSentence(found);
};

test('what the schema describes is taken', () => {
  expect(say({ name: 'a' })).toBeUndefined();
  expect(
    say({ name: 'abcd', kind: 'two', count: -1, is_new: false, words: ['ab', ''], variables: { A: 'x', B: '' } }),
  ).toBeUndefined();
});

test('characters are counted, not code units', () => {
  expect(say({ name: '😀😀😀😀' })).toBeUndefined();
  expect(say({ name: '😀😀😀😀😀' })).toBe('The field name is longer than 4 characters.');
});

describe('anything else is named by its path, with what was expected', () => {
  test.each([
    [[], 'The input is not an object.'],
    [null, 'The input is not an object.'],
    [{}, 'The field name is missing.'],
    [{ name: '' }, 'The field name is empty.'],
    [{ name: 'abcde' }, 'The field name is longer than 4 characters.'],
    [{ name: 'A' }, 'The field name is malformed.'],
    [{ name: 7 }, 'The field name is not text.'],
    [{ name: '\uD800' }, 'The field name holds half a character.'],
    [{ name: 'a', kind: 'three' }, 'The field kind is none of one, two.'],
    [{ name: 'a', count: 10 }, 'The field count is not between -1 and 9.'],
    [{ name: 'a', count: 1.5 }, 'The field count is not a whole number.'],
    [{ name: 'a', count: '1' }, 'The field count is not a whole number.'],
    [{ name: 'a', is_new: 1 }, 'The field is_new is neither true nor false.'],
    [{ name: 'a', words: [] }, 'The field words is empty.'],
    [{ name: 'a', words: ['a', 'b', 'c'] }, 'The field words has more than 2 items.'],
    [{ name: 'a', words: ['a', 'abc'] }, 'The field words[1] is longer than 2 characters.'],
    [{ name: 'a', words: { 0: 'a' } }, 'The field words is not a list.'],
    [{ name: 'a', variables: { a: '' } }, 'The field variables.a is not a name that may stand there.'],
    [{ name: 'a', variables: { A: 1 } }, 'The field variables.A is not text.'],
    [{ name: 'a', variables: { A: '', B: '', C: '' } }, 'The field variables has more than 2 fields.'],
  ])('%j', (value, sentence) => {
    expect(say(value)).toBe(sentence);
  });
});

test('an unknown field is refused with the nearest one, or with all that there are', () => {
  expect(checkSchema(SCHEMA, { name: 'a', isNew: true })).toEqual({
    path: 'isNew',
    what: 'is not known',
    fix: 'Did you mean is_new?',
  });
  expect(checkSchema(SCHEMA, { name: 'a', elsewhere: true })?.fix).toBe(
    'There are: name, kind, count, is_new, words, variables.',
  );
  expect(say({ name: 'a', 'x\u202Ey\n': 1 })).toBe('The field x\\u{202E}y\\n is not known.');
});

test('names that every object inherits are not taken for fields', () => {
  const inherited = JSON.parse('{"name":"a","__proto__":{"count":99}}') as unknown;
  expect(say(inherited)).toBe('The field __proto__ is not known.');
  expect(say({ name: 'a', constructor: 1 })).toBe('The field constructor is not known.');
  expect(say(Object.create({ name: 'a' }))).toBe('The field name is missing.');
});

/** Schemas with values that fit them. */
const fitting: fc.Arbitrary<{ readonly schema: InputSchema; readonly value: unknown }> = fc.letrec<{
  any: { readonly schema: InputSchema; readonly value: unknown };
}>((tie) => ({
  any: fc.oneof(
    { maxDepth: 3 },
    fc.boolean().map((value) => ({ schema: { type: 'boolean' } as const, value })),
    fc.tuple(fc.maxSafeInteger(), fc.nat(), fc.nat()).map(([value, below, above]) => ({
      schema: {
        type: 'integer',
        minimum: Math.max(Number.MIN_SAFE_INTEGER, value - below),
        maximum: Math.min(Number.MAX_SAFE_INTEGER, value + above),
      } as const,
      value,
    })),
    fc.string({ unit: 'grapheme' }).map((value) => {
      const length = Array.from(value).length;
      return { schema: { type: 'string', minLength: length, maxLength: length } as const, value };
    }),
    fc.tuple(tie('any'), fc.nat(3)).map(([{ schema, value }, count]) => ({
      schema: { type: 'array', items: schema, minItems: count, maxItems: count } as const,
      value: Array.from({ length: count }, () => value),
    })),
    fc.dictionary(fc.string({ minLength: 1 }), tie('any'), { maxKeys: 4 }).map((fields) => {
      const each = Object.entries(fields);
      return {
        schema: {
          type: 'object',
          properties: Object.fromEntries(each.map(([name, { schema }]) => [name, schema])),
          required: each.map(([name]) => name),
          additionalProperties: false,
        } as const,
        value: Object.fromEntries(each.map(([name, { value }]) => [name, value])),
      };
    }),
  ),
})).any;

test('whatever fits is taken, however deep', () => {
  fc.assert(
    fc.property(fitting, ({ schema, value }) => {
      expect(checkSchema(schema, value)).toBeUndefined();
    }),
  );
});

test('whatever is added, taken away or of another kind is not', () => {
  fc.assert(
    fc.property(fitting, fc.string(), ({ schema, value }, name) => {
      expect(checkSchema(schema, [value, undefined, value, value, value])).toBeDefined();
      expect(checkSchema(schema, undefined)).toBeDefined();
      if (schema.type !== 'object' || !('properties' in schema)) return;
      const fields = value as Record<string, unknown>;
      // With something before it that no field begins with.
      const more = Object.fromEntries([...Object.entries(fields), [`${Object.keys(fields).join()}+${name}`, 1]]);
      expect(checkSchema(schema, more)).toMatchObject({ what: 'is not known' });
      for (const each of Object.keys(fields)) {
        const { [each]: _, ...less } = fields;
        expect(checkSchema(schema, less)).toMatchObject({ what: 'is missing' });
      }
    }),
  );
});

test('nothing that JSON can say makes it throw', () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      const found = checkSchema(SCHEMA, value);
      expect(found === undefined || asSentence(found).endsWith('.')).toBe(true);
    }),
  );
});
