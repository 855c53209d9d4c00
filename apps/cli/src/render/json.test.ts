import fc from 'fast-check';
import { expect, test } from 'vitest';
import { renderJson } from './json.ts';

test('any value comes back, on one line, without a character that a terminal obeys', () => {
  fc.assert(
    fc.property(fc.jsonValue({ stringUnit: 'binary' }), (value) => {
      const text = renderJson(value);
      expect(JSON.parse(text)).toEqual(JSON.parse(JSON.stringify(value)));
      expect(text).toMatch(/^[^\p{Cc}\p{Cf}\u2028\u2029]*\n$/u);
    }),
  );
  expect(renderJson('\u202E\u009B\u{E0041}')).toBe('"\\u202e\\u009b\\udb40\\udc41"\n');
});
