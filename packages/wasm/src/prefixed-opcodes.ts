import {
  ADDRESS,
  ADDRESS_LANE,
  BYTES_16,
  CONTROL,
  INDEX,
  LANE,
  NOTHING,
  type OpcodeTable,
  opcodeTable,
  UNKNOWN,
} from './opcodes.ts';

/** After 0xfc: saturating conversions, and what works on whole stretches of memories and tables. */
export const BULK: OpcodeTable = opcodeTable([
  [0, 7, NOTHING, 0],
  [8, 8, CONTROL, -3],
  [9, 9, INDEX, 0],
  [10, 12, CONTROL, -3],
  [13, 13, INDEX, 0],
  [14, 14, CONTROL, -3],
  [15, 15, CONTROL, -1],
  [16, 16, INDEX, 1],
  [17, 17, CONTROL, -3],
]);

export interface BulkCost {
  /** Fuel however short it is. */
  readonly base: number;
  /** How far the length on top of the stack is shifted to the right to become fuel. */
  readonly shift: number;
  /** How many follow. */
  readonly indexes: 1 | 2;
}

/** Eight bytes for the price of an instruction. */
const MEMORY: Pick<BulkCost, 'base' | 'shift'> = { base: 8, shift: 3 };
/** V8 takes some tens of nanoseconds for every reference that it writes to a table. */
export const TABLE: Pick<BulkCost, 'base' | 'shift'> = { base: 32, shift: -5 };

/** By opcode after 0xfc. */
export const BULK_COSTS: ReadonlyMap<number, BulkCost> = new Map([
  [8, { ...MEMORY, indexes: 2 }],
  [10, { ...MEMORY, indexes: 2 }],
  [11, { ...MEMORY, indexes: 1 }],
  [12, { ...TABLE, indexes: 2 }],
  [14, { ...TABLE, indexes: 2 }],
  [15, { ...TABLE, indexes: 1 }],
  [17, { ...TABLE, indexes: 1 }],
]);

/** After 0xfd: SIMD. From 256 on it is relaxed SIMD, whose results differ between machines. */
export const SIMD: OpcodeTable = opcodeTable([
  [0, 10, ADDRESS, 0],
  [11, 11, ADDRESS, -2],
  [12, 12, BYTES_16, 1],
  [13, 13, BYTES_16, -1],
  [14, 14, NOTHING, -1],
  [15, 20, NOTHING, 0],
  [21, 22, LANE, 0],
  [23, 23, LANE, -1],
  [24, 25, LANE, 0],
  [26, 26, LANE, -1],
  ...[27, 29, 31, 33].flatMap((extract) => [
    [extract, extract, LANE, 0] as const,
    [extract + 1, extract + 1, LANE, -1] as const,
  ]),
  [35, 76, NOTHING, -1],
  [77, 77, NOTHING, 0],
  [78, 81, NOTHING, -1],
  [82, 82, NOTHING, -2],
  [83, 83, NOTHING, 0],
  [84, 87, ADDRESS_LANE, -1],
  [88, 91, ADDRESS_LANE, -2],
  [92, 93, ADDRESS, 0],
  // Most of the rest takes two and gives one; then come those that take one, and the numbers that mean nothing.
  [94, 255, NOTHING, -1],
  ...[
    [94, 100],
    [103, 106],
    [116, 117],
    [122, 122],
    [124, 129],
    [131, 132],
    [135, 138],
    [148, 148],
    [160, 161],
    [163, 164],
    [167, 170],
    [192, 193],
    [195, 196],
    [199, 202],
    [224, 225],
    [227, 227],
    [236, 237],
    [239, 239],
    [248, 255],
  ].map(([from, to]) => [from as number, to as number, NOTHING, 0] as const),
  ...[154, 162, 165, 166, 175, 176, 178, 179, 180, 187, 194, 197, 198, 207, 208, 210, 211, 212, 226, 238].map(
    (gap) => [gap, gap, UNKNOWN, 0] as const,
  ),
]);
