/** T-26: small modules that make their reader or their compiler do much. They are refused before V8 sees a byte. */
import { engine, instrument, type ModuleLimits } from '@palyra/wasm';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { assembleText } from '../metered-guest.ts';

const { validate } = engine;
let looks = 0;

beforeEach(() => {
  looks = 0;
  engine.validate = (bytes) => {
    looks += 1;
    return validate.call(engine, bytes);
  };
});

afterEach(() => {
  engine.validate = validate;
});

const HEADER = [0x00, 0x61, 0x73, 0x6d, 0x01, 0x00, 0x00, 0x00];

function leb(value: number): number[] {
  return value < 0x80 ? [value] : [(value % 128) | 0x80, ...leb(Math.floor(value / 128))];
}

function section(id: number, ...content: number[]): number[] {
  return [id, ...leb(content.length), ...content];
}

/** A module of `functions` functions that all have this body. */
function withBodies(functions: number, body: readonly number[]): Uint8Array {
  const sized = [...leb(body.length), ...body];
  return Uint8Array.from([
    ...HEADER,
    ...section(1, 1, 0x60, 0, 0),
    ...section(3, ...leb(functions), ...Array.from({ length: functions }, () => 0)),
    ...section(10, ...leb(functions), ...Array.from({ length: functions }, () => sized).flat()),
  ]);
}

const END = 0x0b;

function repeated(part: readonly number[], count: number): number[] {
  return Array.from({ length: count }, () => part).flat();
}

function refusalOf(bytes: Uint8Array, limits: Partial<ModuleLimits> = {}) {
  const result = instrument(bytes, limits);
  return { code: result.kind === 'refused' ? result.code : result.kind, looks };
}

const tooLarge: readonly (readonly [string, () => Uint8Array])[] = [
  ['a million locals in seven bytes', () => withBodies(1, [1, ...leb(1_000_000), 0x7f, END])],
  ['four thousand million locals', () => withBodies(1, [1, ...leb(0xffff_ffff), 0x7f, END])],
  ['locals whose sum would wrap', () => withBodies(1, [2, ...leb(0xffff_ffff), 0x7f, ...leb(2), 0x7f, END])],
  ['ten thousand locals in each of a thousand functions', () => withBodies(1_000, [1, ...leb(9_990), 0x7f, END])],
  [
    'nine thousand locals at five thousand loops',
    () => withBodies(1, [1, ...leb(9_000), 0x7f, ...repeated([0x03, 0x40, END], 5_000), END]),
  ],
  [
    'nine thousand locals at five thousand branches',
    () => withBodies(1, [1, ...leb(9_000), 0x7f, ...repeated([0x41, 0, 0x04, 0x40, END], 5_000), END]),
  ],
  [
    'nine thousand values on the stack at five thousand branches',
    () =>
      withBodies(1, [
        0,
        ...repeated([0x41, 0], 9_000),
        ...repeated([0x41, 0, 0x04, 0x40, END], 5_000),
        ...repeated([0x1a], 9_000),
        END,
      ]),
  ],
  [
    'a branch with ten thousand targets among nine thousand locals',
    () => withBodies(1, [1, ...leb(9_000), 0x7f, 0x41, 0, 0x0e, ...leb(10_000), ...repeated([0], 10_001), END]),
  ],
  [
    'calls that may throw among nine thousand locals',
    () => withBodies(1, [1, ...leb(9_000), 0x7f, 0x06, 0x40, ...repeated([0x10, 0], 5_000), 0x19, END, END]),
  ],
  [
    'a thousand loops around a long body',
    () =>
      withBodies(1, [0, ...repeated([0x03, 0x40], 1_000), ...repeated([0x01], 30_000), ...repeated([END], 1_000), END]),
  ],
  [
    'many functions that are each almost too much work',
    () => withBodies(30, [1, ...leb(9_000), 0x7f, ...repeated([0x03, 0x40, END], 200), END]),
  ],
  ['a million groups of locals', () => withBodies(1, [...leb(1_000_000), END])],
  [
    'blocks three thousand deep',
    () => withBodies(1, [0, ...Array.from({ length: 3_000 }, () => [0x02, 0x40]).flat(), END]),
  ],
  ['a branch with a million targets', () => withBodies(1, [0, 0x41, 0, 0x0e, ...leb(1_000_000), END])],
  ['four thousand million types', () => Uint8Array.from([...HEADER, ...section(1, ...leb(0xffff_ffff))])],
  ['four thousand million imports', () => Uint8Array.from([...HEADER, ...section(2, ...leb(0xffff_ffff))])],
  ['four thousand million functions', () => Uint8Array.from([...HEADER, ...section(3, ...leb(0xffff_ffff))])],
  ['four thousand million globals', () => Uint8Array.from([...HEADER, ...section(6, ...leb(0xffff_ffff))])],
  ['four thousand million exports', () => Uint8Array.from([...HEADER, ...section(7, ...leb(0xffff_ffff))])],
  ['four thousand million element segments', () => Uint8Array.from([...HEADER, ...section(9, ...leb(0xffff_ffff))])],
  [
    'a segment of four thousand million elements',
    () => Uint8Array.from([...HEADER, ...section(9, 1, 1, 0, ...leb(0xffff_ffff))]),
  ],
  ['four thousand million data segments', () => Uint8Array.from([...HEADER, ...section(11, ...leb(0xffff_ffff))])],
  ['four thousand million tags', () => Uint8Array.from([...HEADER, ...section(13, ...leb(0xffff_ffff))])],
  ['a type with a million parameters', () => Uint8Array.from([...HEADER, ...section(1, 1, 0x60, ...leb(1_000_000))])],
  [
    'a table of a thousand million elements',
    () => Uint8Array.from([...HEADER, ...section(4, 1, 0x70, 0, ...leb(1_000_000_000))]),
  ],
  ['thousands of tables', () => Uint8Array.from([...HEADER, ...section(4, ...leb(5_000))])],
  ['four gigabytes of memory at the start', () => Uint8Array.from([...HEADER, ...section(5, 1, 0, ...leb(65_536))])],
  [
    'an imported memory of four gigabytes',
    () => Uint8Array.from([...HEADER, ...section(2, 1, 1, 0x61, 1, 0x62, 2, 0, ...leb(65_536))]),
  ],
  [
    'thousands of custom sections',
    () => Uint8Array.from([...HEADER, ...Array.from({ length: 5_000 }, () => [0, 1, 0]).flat()]),
  ],
];

test.each(tooLarge)('%s: refused before V8 sees it', (_what, make) => {
  expect(refusalOf(make())).toEqual({ code: 'wasm.too_large', looks: 0 });
});

test('a body above its limit is not read', () => {
  const body = [0, ...Array.from({ length: 2_000 }, () => 0x01), END];
  expect(refusalOf(withBodies(1, body), { bodyBytes: 1_999 })).toEqual({ code: 'wasm.too_large', looks: 0 });
});

test('a module above the limit of its size is not read at all', () => {
  expect(refusalOf(new Uint8Array(2_000), { moduleBytes: 1_999 })).toEqual({ code: 'wasm.too_large', looks: 0 });
});

test.each([
  ['threads', '(module (memory 1 1 shared))'],
  ['an atomic instruction', '(module (memory 1) (func (drop (i32.atomic.load (i32.const 0)))))'],
  ['memory64', '(module (memory i64 1))'],
  ['a table of 64-bit indexes', '(module (table i64 1 funcref))'],
  ['several memories', '(module (memory 1) (memory 1))'],
  ['a memory beside an imported one', '(module (import "a" "b" (memory 1)) (memory 1))'],
  ['tail calls', '(module (func $f (return_call $f)))'],
  ['indirect tail calls', '(module (table 1 funcref) (func (return_call_indirect (i32.const 0))))'],
  [
    'relaxed SIMD',
    '(module (func (param v128 v128) (result v128) (i8x16.relaxed_swizzle (local.get 0) (local.get 1))))',
  ],
])('%s is refused by name', async (_what, text) => {
  expect(refusalOf(await assembleText(text))).toEqual({ code: 'wasm.unsupported', looks: 0 });
});

test.each([
  ['a structure', section(1, 1, 0x5f, 0)],
  ['an array', section(1, 1, 0x5e, 0x7f, 0)],
  ['a recursive group', section(1, 1, 0x4e, 0)],
  ['a subtype', section(1, 1, 0x50, 0, 0x60, 0, 0)],
  ['a parameter of a collected type', section(1, 1, 0x60, 1, 0x6e, 0)],
  ['a continuation', section(1, 1, 0x5d, 0)],
  ['a memory of other pages', section(5, 1, 0x08, 1, 0)],
  ['strings', section(14, 0)],
])('%s is refused by name', (_what, bytes) => {
  expect(refusalOf(Uint8Array.from([...HEADER, ...bytes]))).toEqual({ code: 'wasm.unsupported', looks: 0 });
});
