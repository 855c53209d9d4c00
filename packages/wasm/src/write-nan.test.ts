import { expect, test } from 'vitest';
import { engine } from './host/engine.ts';
import { instrument } from './instrument.ts';
import { openMeter } from './meter.ts';
import { SIMD_NANS, SIMD_TAKES, SINGLE_NANS, SINGLE_TAKES } from './nan-makers.ts';

const HEADER = [0x00, 0x61, 0x73, 0x6d, 0x01, 0x00, 0x00, 0x00];
const section = (id: number, ...content: number[]): number[] => [id, content.length, ...content];

/** Signalling, and with a payload: what no operation may let through. */
const F32_IN = [0x43, 0x04, 0x00, 0x80, 0x7f];
const F64_IN = [0x44, 0x04, 0x00, 0x00, 0x00, 0x00, 0x00, 0xf0, 0xff];
const F32X4_IN = [0xfd, 12, ...Array.from({ length: 4 }, () => F32_IN.slice(1)).flat()];
const F64X2_IN = [0xfd, 12, ...Array.from({ length: 2 }, () => F64_IN.slice(1)).flat()];
const F32_STORE = [0x38, 0, 0];
const F64_STORE = [0x39, 0, 0];
const V128_STORE = [0xfd, 11, 0, 0];
const F32_OUT = '0000c07f';
const F64_OUT = '000000000000f87f';

/** The bytes that a function leaves at the start of its memory. */
function stored(code: readonly number[]): string {
  const body = [0, 0x41, 0, ...code, 0x0b];
  const module = Uint8Array.from([
    ...HEADER,
    ...section(1, 1, 0x60, 0, 0),
    ...section(3, 1, 0),
    ...section(5, 1, 0, 1),
    ...section(7, 2, 1, 0x66, 0, 0, 1, 0x6d, 2, 0),
    ...section(10, 1, body.length, ...body),
  ]);
  const result = instrument(module);
  if (result.kind === 'refused') throw new Error(`${result.code}: ${result.reason}`);
  const instance = new engine.Instance(new engine.Module(result.bytes));
  openMeter(instance).give({ fuel: 1_000n });
  (instance.exports['f'] as () => void)();
  const { buffer } = instance.exports['m'] as { readonly buffer: ArrayBuffer };
  return Buffer.from(buffer, 0, 16).toString('hex');
}

const range = (from: number, to: number): number[] => Array.from({ length: to - from + 1 }, (_, index) => from + index);

/** Every operation on floats that gives one, and whether it only moves bits. */
const singles = [
  ...range(0x8b, 0x98).map((opcode) => ({ opcode, input: F32_IN, store: F32_STORE, out: F32_OUT })),
  ...range(0x99, 0xa6).map((opcode) => ({ opcode, input: F64_IN, store: F64_STORE, out: F64_OUT })),
  { opcode: 0xb6, input: F64_IN, store: F32_STORE, out: F32_OUT },
  { opcode: 0xbb, input: F32_IN, store: F64_STORE, out: F64_OUT },
];
/** `abs`, `neg` and `copysign`. */
const MOVING_SINGLES = new Set([0x8b, 0x8c, 0x98, 0x99, 0x9a, 0xa6]);
const ONE_OPERAND = new Set([...range(0x8b, 0x91), ...range(0x99, 0x9f), 0xb6, 0xbb]);

test.each(singles)('operation $opcode gives the one NaN, or only moves bits', ({ opcode, input, store, out }) => {
  const operands = ONE_OPERAND.has(opcode) ? input : [...input, ...input];
  const isOne = stored([...operands, opcode, ...store]).startsWith(out);
  expect({ isOne, isMade: SINGLE_NANS[opcode] !== 0 }).toEqual({
    isOne: !MOVING_SINGLES.has(opcode),
    isMade: !MOVING_SINGLES.has(opcode),
  });
});

const FOUR = F32_OUT.repeat(4);
const TWO = F64_OUT.repeat(2);
const f32x4 = { input: F32X4_IN, out: FOUR };
const f64x2 = { input: F64X2_IN, out: TWO };
const vectors = [
  { opcode: 94, input: F64X2_IN, out: `${F32_OUT.repeat(2)}${'00'.repeat(8)}` },
  { opcode: 95, input: F32X4_IN, out: TWO },
  ...[...range(103, 106), ...range(224, 225), ...range(227, 235)].map((opcode) => ({ opcode, ...f32x4 })),
  ...[116, 117, 122, 148, ...range(236, 237), ...range(239, 247)].map((opcode) => ({ opcode, ...f64x2 })),
];
/** `abs`, `neg`, `pmin` and `pmax`. */
const MOVING_VECTORS = new Set([224, 225, 234, 235, 236, 237, 246, 247]);
const ONE_VECTOR = new Set([94, 95, ...range(103, 106), 116, 117, 122, 148, 224, 225, 227, 236, 237, 239]);

test.each(vectors)('operation $opcode on vectors gives the one NaN, or only moves bits', ({ opcode, input, out }) => {
  const operands = ONE_VECTOR.has(opcode) ? input : [...input, ...input];
  const written = opcode < 128 ? [opcode] : [opcode, 1];
  const isOne = stored([...operands, 0xfd, ...written, ...V128_STORE]) === out;
  expect({ isOne, isMade: SIMD_NANS[opcode] !== 0 }).toEqual({
    isOne: !MOVING_VECTORS.has(opcode),
    isMade: !MOVING_VECTORS.has(opcode),
  });
});

test('what takes a NaN without telling is arithmetic, a comparison or a conversion of the same kind', () => {
  const taking = (table: Uint8Array): number[] => [...table.keys()].filter((opcode) => table[opcode] !== 0);
  const makers = (table: Uint8Array): number[] => taking(table);
  expect(taking(SINGLE_TAKES)).toEqual(
    [...range(0x5b, 0x66), ...makers(SINGLE_NANS), ...range(0xa8, 0xab), ...range(0xae, 0xb1)].toSorted(
      (one, other) => one - other,
    ),
  );
  expect(taking(SIMD_TAKES)).toEqual(
    [...range(65, 76), ...makers(SIMD_NANS), 248, 249, 252, 253].toSorted((one, other) => one - other),
  );
});

test('a NaN that goes through several operations is made the one at the end', () => {
  const [add, mul, promote] = [0x92, 0x94, 0xbb];
  expect(stored([...F32_IN, ...F32_IN, ...F32_IN, add, mul, promote, ...F64_STORE])).toContain(F64_OUT);
});

test('bits of a vector that are looked at as another kind are made the one first', () => {
  const [div32, add64] = [
    [0xfd, 231, 1],
    [0xfd, 206, 1],
  ];
  const zero = [0xfd, 12, ...Array.from({ length: 16 }, () => 0)];
  expect(stored([...zero, ...zero, ...div32, ...zero, ...add64, ...V128_STORE])).toBe(FOUR);
});
