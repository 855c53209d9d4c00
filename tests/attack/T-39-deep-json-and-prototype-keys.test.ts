/** T-39: JSON that takes the daemon down, or changes what every object of the process inherits. */
import { canonicalJson, type JsonValue, parseJson } from '@palyra/primitives';
import { expect, test } from 'vitest';

test.each([
  ['arrays', '['.repeat(1_000_000)],
  ['objects', '{"a":'.repeat(500_000)],
  ['arrays that are closed again', '['.repeat(1_000_000) + ']'.repeat(1_000_000)],
])('a million nested %s are an error with a code, not the end of the stack', (_what, text) => {
  expect(() => parseJson(text)).toThrow(expect.objectContaining({ code: 'primitives.json_too_deep' }));
  expect(() => parseJson(text, { maxDepth: 1e9 })).toThrow(
    expect.objectContaining({ code: 'primitives.json_too_deep' }),
  );
});

test('a value built deep in memory cannot end the stack of the canonicaliser', () => {
  let value: JsonValue = [];
  for (let level = 0; level < 200_000; level += 1) value = { a: value };
  expect(() => canonicalJson(value)).toThrow(expect.objectContaining({ code: 'primitives.json_too_deep' }));
});

test('a giant text is refused before it is read', () => {
  expect(() => parseJson(new Uint8Array(64 * 1024 * 1024))).toThrow(
    expect.objectContaining({ code: 'primitives.json_too_large' }),
  );
});

test('prototype keys are data: no object changes its prototype, and no other object sees them', () => {
  const text =
    '{"__proto__":{"isAdmin":true},"constructor":{"prototype":{"isAdmin":true}},"a":{"__proto__":{"isAdmin":true}}}';
  const parsed = parseJson(text) as Record<string, object>;
  expect({
    prototype: Object.getPrototypeOf(parsed) === Object.prototype,
    nested: Object.getPrototypeOf(parsed['a']) === Object.prototype,
    keys: Object.keys(parsed),
    inherited: 'isAdmin' in parsed || 'isAdmin' in (parsed['a'] ?? {}),
    others: 'isAdmin' in {},
    again: canonicalJson(parsed as JsonValue),
  }).toEqual({
    prototype: true,
    nested: true,
    keys: ['__proto__', 'constructor', 'a'],
    inherited: false,
    others: false,
    again:
      '{"__proto__":{"isAdmin":true},"a":{"__proto__":{"isAdmin":true}},"constructor":{"prototype":{"isAdmin":true}}}',
  });
});
