import { type ByteSink, putByte, putBytes, putU32 } from './byte-sink.ts';
import { NAN_F32, NAN_F32X4, NAN_F64, NAN_F64X2 } from './nan-makers.ts';
import { OP } from './opcodes.ts';

/** Where the values are kept that may be NaN, by kind. */
export type NanLocals = ReadonlyMap<number, number>;

interface NanCode {
  /** The type of the value. */
  readonly type: number;
  /** The one that all become: positive, quiet, and nothing else. */
  readonly constant: readonly number[];
  /** A value that is not equal to itself is NaN. */
  readonly equal: readonly number[];
  /** Takes the first of two where a third says so. */
  readonly choose: readonly number[];
}

const F32_NAN = [0x00, 0x00, 0xc0, 0x7f];
const F64_NAN = [0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0xf8, 0x7f];
const SELECT = [0x1b];
const BIT_SELECT = [OP.simdPrefix, 82];
const V128_CONST = [OP.simdPrefix, 12];
const V128 = 0x7b;

const CODES: ReadonlyMap<number, NanCode> = new Map([
  [NAN_F32, { type: 0x7d, constant: [0x43, ...F32_NAN], equal: [0x5b], choose: SELECT }],
  [NAN_F64, { type: 0x7c, constant: [0x44, ...F64_NAN], equal: [0x61], choose: SELECT }],
  [
    NAN_F32X4,
    {
      type: V128,
      constant: [...V128_CONST, ...F32_NAN, ...F32_NAN, ...F32_NAN, ...F32_NAN],
      equal: [OP.simdPrefix, 65],
      choose: BIT_SELECT,
    },
  ],
  [
    NAN_F64X2,
    {
      type: V128,
      constant: [...V128_CONST, ...F64_NAN, ...F64_NAN],
      equal: [OP.simdPrefix, 71],
      choose: BIT_SELECT,
    },
  ],
]);

const NO_LOCALS: NanLocals = new Map();

/** A local for each kind in the set, from index `first` on. */
export function nanLocalsFrom(first: number, nans: number): NanLocals {
  if (nans === 0) return NO_LOCALS;
  const kinds = [...CODES.keys()].filter((kind) => (nans & (1 << kind)) !== 0);
  return new Map(kinds.map((kind, index) => [kind, first + index]));
}

export function putNanLocals(sink: ByteSink, locals: NanLocals): void {
  for (const kind of locals.keys()) putBytes(sink, [1, CODES.get(kind)?.type ?? V128]);
}

/** Makes the value on the stack the one NaN, if it is any. */
export function putOneNan(sink: ByteSink, kind: number, locals: NanLocals): void {
  const code = CODES.get(kind);
  const local = locals.get(kind);
  if (code === undefined || local === undefined) throw new Error(`There is no NaN of kind ${kind}.`);
  putLocal(sink, OP.localTee, local);
  putBytes(sink, code.constant);
  putLocal(sink, OP.localGet, local);
  putLocal(sink, OP.localGet, local);
  putBytes(sink, code.equal);
  putBytes(sink, code.choose);
}

function putLocal(sink: ByteSink, opcode: number, local: number): void {
  putByte(sink, opcode);
  putU32(sink, local);
}
