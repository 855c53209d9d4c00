import { create, type DescMessage, fromBinary, toBinary } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import {
  RunStreamRequestSchema,
  RunStreamResponseSchema,
  ToolCallResultSchema,
  WatchRunResponseSchema,
} from '@palyra/api';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { encodeMessage } from './encode-message.ts';

/** Whatever a message of this kind can hold. */
function initOf(desc: DescMessage, depth = 0): fc.Arbitrary<Record<string, unknown>> {
  const entries = desc.members.map((member) => {
    if (member.kind === 'oneof') {
      const choices = member.fields.map((field) =>
        valueIn(field, depth).map((value) => ({ case: field.localName, value })),
      );
      return [member.localName, fc.oneof(fc.constant({ case: undefined }), ...choices)] as const;
    }
    const value = valueIn(member, depth);
    const said = member.fieldKind === 'list' ? fc.array(value, { maxLength: 3 }) : value;
    return [member.localName, fc.option(said, { nil: undefined })] as const;
  });
  return fc.record(Object.fromEntries(entries));
}

function valueIn(field: DescMessage['fields'][number], depth: number): fc.Arbitrary<unknown> {
  if (field.message?.typeName === 'google.protobuf.Timestamp') return fc.nat().map((ms) => timestampFromMs(ms));
  if (field.message !== undefined) return initOf(field.message, depth + 1);
  if (field.enum !== undefined) return fc.constantFrom(...field.enum.values.map(({ number }) => number));
  return SCALARS[field.scalar as keyof typeof SCALARS] ?? fc.constant(undefined);
}

/** By the numbers of `ScalarType`. */
const SCALARS = {
  3: fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
  4: fc.oneof(fc.constant(0n), fc.bigInt({ min: 0n, max: 2n ** 64n - 1n })),
  5: fc.integer(),
  8: fc.boolean(),
  9: fc.oneof(fc.string({ unit: 'binary' }), fc.string({ minLength: 100, maxLength: 300 })),
  12: fc.uint8Array({ maxLength: 300 }),
  13: fc.nat(),
};

test.each([RunStreamResponseSchema, WatchRunResponseSchema, RunStreamRequestSchema, ToolCallResultSchema])(
  'the bytes of $name are those that the library makes of the same fields',
  (schema: DescMessage) => {
    fc.assert(
      fc.property(initOf(schema), (fields) => {
        const bytes = encodeMessage(schema, fields);
        expect(Buffer.from(bytes).equals(toBinary(schema, create(schema, fields)))).toBe(true);
        expect(fromBinary(schema, bytes)).toEqual(fromBinary(schema, toBinary(schema, create(schema, fields))));
      }),
    );
  },
);

test('one that cannot be written leaves nothing to the next one', () => {
  const bad = { event: { sequence: 1n, event: { case: 'runEnded', value: { outcome: 'x', calls: -1 } } } } as const;
  expect(() => encodeMessage(RunStreamResponseSchema, bad)).toThrow('uint32');
  const good = { event: { sequence: 2n } } as const;
  expect(encodeMessage(RunStreamResponseSchema, good)).toEqual(
    toBinary(RunStreamResponseSchema, create(RunStreamResponseSchema, good)),
  );
});
