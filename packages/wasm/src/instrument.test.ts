import fc from 'fast-check';
import { expect, test } from 'vitest';
import { describeModule } from './describe-module.ts';
import { engine } from './host/engine.ts';
import {
  FUEL_EXPORT,
  GROWTH_EXPORT,
  MEMORY_EXPORT,
  RESTORABLE_EXPORT,
  STACK_EXPORT,
  START_EXPORT,
} from './host/meter-names.ts';
import { instrument } from './instrument.ts';
import { openMeter } from './meter.ts';

const HEADER = [0x00, 0x61, 0x73, 0x6d, 0x01, 0x00, 0x00, 0x00];

function section(id: number, ...content: number[]): number[] {
  return [id, content.length, ...content];
}

function bytesOf(...parts: readonly (readonly number[])[]): Uint8Array {
  return Uint8Array.from([...HEADER, ...parts.flat()]);
}

/** One function `f: (i32) -> i32`, exported, with this code behind no locals. */
function moduleWith(...code: number[]): Uint8Array {
  return bytesOf(
    section(1, 1, 0x60, 1, 0x7f, 1, 0x7f),
    section(3, 1, 0),
    section(5, 1, 0, 1),
    section(7, 1, 1, 0x66, 0, 0),
    section(10, 1, code.length + 1, 0, ...code),
  );
}

/** Counts its parameter down to zero, eleven instructions for each. */
const COUNTDOWN_CODE = [
  [0x03, 0x40, 0x20, 0, 0x45, 0x04, 0x40, 0x20, 0, 0x0f, 0x0b],
  [0x20, 0, 0x41, 1, 0x6b, 0x21, 0, 0x0c, 0, 0x0b, 0x00, 0x0b],
];
const COUNTDOWN = moduleWith(...COUNTDOWN_CODE.flat());

function open(bytes: Uint8Array) {
  const result = instrument(bytes);
  if (result.kind === 'refused') throw new Error(`${result.code}: ${result.reason}`);
  const instance = new engine.Instance(new engine.Module(result.bytes));
  return { meter: openMeter(instance), call: instance.exports['f'] as (value: number) => number, result };
}

test('a metered module computes the same and says what it took', () => {
  const { meter, call } = open(COUNTDOWN);
  meter.give({ fuel: 1_000n });
  expect({ value: call(10), spent: meter.spent(), left: meter.left() }).toEqual({
    value: 0,
    spent: 'nothing',
    left: 877n,
  });
});

test('fuel is used in proportion to what is done, and the same each time', () => {
  const { meter, call } = open(COUNTDOWN);
  const used = (value: number): bigint => {
    meter.give({ fuel: 1_000_000n });
    call(value);
    return 1_000_000n - meter.left();
  };
  expect([used(0), used(1), used(2), used(1_000)]).toEqual([13n, 24n, 35n, 11_013n]);
  expect(used(1_000)).toBe(11_013n);
});

test('too little fuel is a trap, and the counter says why', () => {
  const { meter, call } = open(COUNTDOWN);
  meter.give({ fuel: 100n });
  expect(() => call(10)).toThrow(engine.RuntimeError);
  expect({ spent: meter.spent(), isBelowZero: meter.left() < 0n }).toEqual({ spent: 'fuel', isBelowZero: true });
});

test('what a host takes is missing to the guest', () => {
  const { meter, call } = open(COUNTDOWN);
  meter.give({ fuel: 1_000n });
  meter.take(950n);
  expect(() => call(10)).toThrow('unreachable');
  expect(meter.spent()).toBe('fuel');
});

test('the same module gives the same bytes, whatever buffer it comes in', () => {
  const [first, second] = [open(COUNTDOWN).result, open(Buffer.concat([COUNTDOWN])).result];
  expect(second).toEqual(first);
});

test('an instance that was not metered has no meter', () => {
  const plain = new engine.Instance(new engine.Module(COUNTDOWN));
  expect(() => openMeter(plain)).toThrow(expect.objectContaining({ code: 'wasm.instrumentation_failed' }));
});

test('custom sections are left out, and the counters are added to globals and exports', () => {
  const named = bytesOf([...COUNTDOWN.subarray(8)], section(0, 4, 0x6e, 0x61, 0x6d, 0x65));
  const { result } = open(named);
  expect(result.digest).toBe(open(COUNTDOWN).result.digest);
  expect(describeModule(result.bytes)).toEqual({
    imports: [],
    exports: [
      { name: 'f', kind: 'function', signature: { params: ['i32'], results: ['i32'] } },
      { name: FUEL_EXPORT, kind: 'global', signature: undefined },
      { name: STACK_EXPORT, kind: 'global', signature: undefined },
      { name: GROWTH_EXPORT, kind: 'global', signature: undefined },
      { name: MEMORY_EXPORT, kind: 'memory', signature: undefined },
      { name: RESTORABLE_EXPORT, kind: 'global', signature: undefined },
    ],
  });
});

test('a start function waits for the host', () => {
  const started = bytesOf(
    section(1, 1, 0x60, 0, 0),
    section(3, 1, 0),
    section(6, 1, 0x7f, 1, 0x41, 0, 0x0b),
    section(7, 1, 1, 0x67, 3, 0),
    section(8, 0),
    section(10, 1, 6, 0, 0x41, 42, 0x24, 0, 0x0b),
  );
  const result = instrument(started);
  if (result.kind === 'refused') throw new Error(result.reason);
  const instance = new engine.Instance(new engine.Module(result.bytes));
  const global = instance.exports['g'] as { readonly value: number };
  const meter = openMeter(instance);
  expect({ before: global.value, start: typeof instance.exports[START_EXPORT] }).toEqual({
    before: 0,
    start: 'function',
  });
  meter.give({ fuel: 100n });
  meter.start?.();
  expect(global.value).toBe(42);
});

test('an imported memory must be made with the maximum that is told', () => {
  const importing = bytesOf(section(2, 1, 1, 0x61, 1, 0x62, 2, 0, 3));
  const result = instrument(importing, { memoryPages: 20 });
  if (result.kind === 'refused') throw new Error(result.reason);
  expect(result.importedMemory).toEqual({ initial: 3, maximum: 20 });
  const module = new engine.Module(result.bytes);
  const link = (size: { initial: number; maximum?: number }) =>
    new engine.Instance(module, { a: { b: new engine.Memory(size) } });
  expect(() => link({ initial: 3 })).toThrow(engine.LinkError);
  expect(() => link({ initial: 3, maximum: 21 })).toThrow(engine.LinkError);
  expect(link({ initial: 3, maximum: 20 })).toBeInstanceOf(engine.Instance);
});

test('limits that make no sense are a fault of the caller', () => {
  for (const limits of [{ memoryPages: -1 }, { memoryPages: 65_537 }, { locals: 1.5 }, { nesting: Number.NaN }]) {
    expect(() => instrument(COUNTDOWN, limits)).toThrow(expect.objectContaining({ code: 'wasm.bad_limits' }));
  }
});

const refused: readonly (readonly [string, Uint8Array, string])[] = [
  ['nothing', new Uint8Array(), 'wasm.malformed'],
  ['text', new TextEncoder().encode('(module)'), 'wasm.malformed'],
  ['another version', Uint8Array.from([...HEADER.slice(0, 4), 2, 0, 0, 0]), 'wasm.malformed'],
  ['a component', Uint8Array.from([0x00, 0x61, 0x73, 0x6d, 0x0d, 0x00, 0x01, 0x00]), 'wasm.unsupported'],
  ['a section longer than the module', bytesOf([1, 100, 0]), 'wasm.malformed'],
  ['a length that does not end', bytesOf([1, 0x80, 0x80, 0x80, 0x80, 0x80, 0]), 'wasm.malformed'],
  ['a length of more than 32 bits', bytesOf([1, 0xff, 0xff, 0xff, 0xff, 0x1f]), 'wasm.malformed'],
  ['a length that is cut off', bytesOf([1, 0x80]), 'wasm.malformed'],
  ['a section twice', bytesOf(section(1, 0), section(1, 0)), 'wasm.malformed'],
  ['sections out of order', bytesOf(section(3, 0), section(1, 0)), 'wasm.invalid'],
  ['a section that nobody knows', bytesOf(section(99, 0)), 'wasm.malformed'],
  ['a function without a body', bytesOf(section(1, 1, 0x60, 0, 0), section(3, 1, 0)), 'wasm.malformed'],
  ['a body without a function', bytesOf(section(10, 1, 2, 0, 0x0b)), 'wasm.malformed'],
  ['a body that does not end', moduleWith(0x20, 0, 0x02, 0x40, 0x0b), 'wasm.malformed'],
  ['a body that ends too early', moduleWith(0x20, 0, 0x0b, 0x0b), 'wasm.malformed'],
  ['an arm of no block', moduleWith(0x05, 0x20, 0, 0x0b), 'wasm.malformed'],
  ['an opcode that nobody knows', moduleWith(0xff, 0x0b), 'wasm.malformed'],
  ['a vector opcode that nobody knows', moduleWith(0xfd, 0x9a, 0x01, 0x0b), 'wasm.malformed'],
  ['a call of nobody', moduleWith(0x10, 9, 0x0b), 'wasm.malformed'],
  ['a block of a type that is not there', moduleWith(0x02, 9, 0x0b, 0x0b), 'wasm.malformed'],
  ['a local of nobody', moduleWith(0x20, 9, 0x0b), 'wasm.invalid'],
  ['a label of nobody', moduleWith(0x0c, 9, 0x0b), 'wasm.invalid'],
  ['a value that is missing', moduleWith(0x0b), 'wasm.invalid'],
  ['a constant cut off by its body', moduleWith(0x44, 0, 0, 0x0b), 'wasm.malformed'],
  ['wide arithmetic', moduleWith(0xfc, 19, 0x0b), 'wasm.unsupported'],
  ['garbage collection', moduleWith(0xfb, 0, 0, 0x0b), 'wasm.unsupported'],
];

test.each(refused)('%s is refused with a reason', (_what, bytes, code) => {
  const result = instrument(bytes);
  expect(result).toMatchObject({ kind: 'refused', code });
  expect(result.kind === 'refused' && result.reason.length > 10 && result.fix !== undefined).toBe(true);
});

test('numbers written with more bytes than they need are read as they are', () => {
  const { meter, call } = open(moduleWith(0x20, 0x80, 0x80, 0x00, 0x28, 0x82, 0x80, 0x00, 0x84, 0x00, 0x0b));
  meter.give({ fuel: 100n });
  expect(call(0)).toBe(0);
});

/** Never a fault of ours, never accepted unless V8 accepts the original. */
function expectSound(bytes: Uint8Array): void {
  const result = instrument(bytes);
  const isSound =
    result.kind === 'instrumented' ? engine.validate(bytes) : result.code !== 'wasm.instrumentation_failed';
  expect(isSound).toBe(true);
}

test('every beginning of a module is refused or sound', () => {
  for (let length = 0; length <= COUNTDOWN.length; length += 1) expectSound(COUNTDOWN.subarray(0, length));
});

test('modules with changed bytes are refused or sound', () => {
  const change = fc.tuple(fc.nat({ max: COUNTDOWN.length - 1 }), fc.nat({ max: 255 }));
  fc.assert(
    fc.property(fc.array(change, { minLength: 1, maxLength: 4 }), (changes) => {
      const bytes = new Uint8Array(COUNTDOWN);
      for (const [at, byte] of changes) bytes[at] = byte;
      expectSound(bytes);
    }),
    { numRuns: 2_000 },
  );
});

test('any bytes behind the header are refused or sound', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 60 }), (tail) => expectSound(bytesOf([...tail]))),
    { numRuns: 1_000 },
  );
});
