import { type Cursor, readByte, readU32 } from './cursor.ts';
import { CONTROL, OP, PREFIX, proposalOf, SINGLE, UNKNOWN } from './opcodes.ts';
import { SIMD } from './prefixed-opcodes.ts';
import { skipImmediates } from './skip-immediates.ts';
import { malformed, unsupported } from './wasm-error.ts';

/** Moves over a constant expression, and adds the functions it refers to. Which instructions are constant is V8's to say; none of them loops. */
export function readConstant(cursor: Cursor, referred: Set<number>): void {
  for (;;) {
    const opcode = readByte(cursor);
    if (opcode === OP.end) return;
    const proposal = proposalOf(opcode);
    if (proposal !== undefined) throw unsupported(proposal);
    if (opcode === OP.refFunc) referred.add(readU32(cursor));
    else skipImmediates(cursor, followsIn(cursor, opcode));
  }
}

function followsIn(cursor: Cursor, opcode: number): number {
  const single = SINGLE.follows[opcode] as number;
  const follows = single === PREFIX && opcode === OP.simdPrefix ? SIMD.follows[readU32(cursor)] : single;
  if (follows === undefined || follows >= CONTROL || follows === UNKNOWN) {
    throw malformed('A constant expression computes what no constant can.');
  }
  return follows;
}
