import type { JsonObject } from '@palyra/primitives';
import { describe, expect, test } from 'vitest';
import { createCatalog } from './create-catalog.ts';
import type { Tool } from './tool.ts';

const NO_FIELDS: JsonObject = { type: 'object', properties: {}, required: [], additionalProperties: false };

function tool(name: string, { isHidden = false, inputSchema = NO_FIELDS } = {}): Tool {
  return {
    metadata: {
      name,
      version: '1',
      description: name,
      inputSchema,
      capabilities: [],
      isSensitive: false,
      tier: 'built_in',
      isParallel: true,
      isHidden,
    },
    plan: () => Promise.reject(new Error('Nobody plans here.')),
    execute: () => Promise.reject(new Error('Nobody executes here.')),
  };
}

test('tools are found by their exact names', () => {
  const one = tool('a.one');
  const catalog = createCatalog([one, tool('a.two')]);
  expect(catalog.get('a.one')).toBe(one);
  expect(catalog.get('A.one')).toBeUndefined();
  expect(catalog.get('constructor')).toBeUndefined();
});

test('the list is in order, without what is hidden unless told', () => {
  const catalog = createCatalog([tool('b'), tool('c', { isHidden: true }), tool('a')]);
  expect(catalog.list().map(({ name }) => name)).toEqual(['a', 'b']);
  expect(catalog.list({ includeHidden: true }).map(({ name }) => name)).toEqual(['a', 'b', 'c']);
});

test('two tools of one name are refused, and so is a name that no policy can name', () => {
  expect(() => createCatalog([tool('a'), tool('a')])).toThrow('There are two tools of the name a.');
  expect(() => createCatalog([tool('a b')])).toThrow('A tool has a name that no policy can name: "a b".');
});

describe('a schema that says something that is not checked is refused', () => {
  const field = (schema: JsonObject) => ({ ...NO_FIELDS, properties: { x: schema } });
  test.each([
    ['an unknown keyword', field({ type: 'string', format: 'email' })],
    ['an unknown type', field({ type: 'number' })],
    ['no type', field({})],
    ['an open object', { ...NO_FIELDS, additionalProperties: true }],
    ['no word about other fields', { type: 'object', properties: {}, required: [] }],
    ['a required field that there is not', { ...NO_FIELDS, required: ['y'] }],
    ['a list without an end', field({ type: 'array', items: { type: 'boolean' } })],
    ['a number without bounds', field({ type: 'integer', minimum: 0 })],
    ['a malformed pattern', field({ type: 'string', pattern: '(' })],
    ['something odd within a list', field({ type: 'array', maxItems: 1, items: { type: 'string', const: 'x' } })],
    ['no object at all', { type: 'string' }],
    [
      'a map instead of fields',
      { type: 'object', additionalProperties: { type: 'string' }, propertyNames: { pattern: '' }, maxProperties: 1 },
    ],
  ])('%s', (_, inputSchema) => {
    expect(() => createCatalog([tool('a', { inputSchema })])).toThrow(
      expect.objectContaining({
        code: 'gateway.invalid_catalog',
        message: 'The input schema of a says something that is not checked here.',
      }),
    );
  });
});
