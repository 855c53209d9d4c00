import fc from 'fast-check';
import { expect, test } from 'vitest';
import { decodeValue, encodeValue } from './plain-values.ts';

const values = fc.letrec((again) => ({
  value: fc.oneof(
    { depthSize: 'small' },
    fc.string({ unit: 'binary' }).filter((text) => text.isWellFormed()),
    fc.double({ noNaN: false }).map((number) => (Object.is(number, -0) ? 0 : number)),
    fc.boolean(),
    fc.constant(null),
    fc.uint8Array().map((bytes) => Buffer.from(bytes)),
    fc.array(again('value')),
    fc.array(again('value')).map((items) => new Set(items)),
    fc.dictionary(fc.oneof(fc.string(), fc.constantFrom('__proto__', 'bytes', 'list')), again('value'), {
      noNullPrototype: true,
    }),
  ),
})).value;

test('what is told comes back as it was', () => {
  fc.assert(
    fc.property(values, (value) => {
      expect(decodeValue(encodeValue(value))).toEqual(value);
    }),
  );
});

test('what is not there is left out', () => {
  expect(decodeValue(encodeValue({ a: undefined, b: { c: undefined, d: 1 } }))).toStrictEqual({ b: { d: 1 } });
});

test.each([[undefined], [() => {}]])('a list cannot hold %s', (item) => {
  expect(() => encodeValue([item])).toThrow(TypeError);
});

test.each(['["strange"]', '[]', '["bytes"]', '["number",1]', '[["list"]]'])('%s is no value of ours', (text) => {
  expect(() => decodeValue(Buffer.from(text))).toThrow(TypeError);
});
