import { addPlace } from './charging.ts';
import { cursorOn, readU32 } from './cursor.ts';
import { ONE_NAN } from './meter-plan.ts';
import { SIMD_TAKES, SINGLE_TAKES } from './nan-makers.ts';
import { OP } from './opcodes.ts';
import type { Planning } from './planning.ts';

/**
 * After an instruction whose result may be NaN, of this kind: unless the next one cannot tell, all NaNs become one.
 *
 * SECURITY: T-26 — which NaN an operation gives differs between machines and between V8's own compilers, so a guest that
 * looks at its bits would do other things, for other fuel, from one run to the next.
 */
export function planNan(planning: Planning, kind: number): void {
  const { cursor, charging } = planning;
  if (planning.dead || isTaken(planning, kind)) return;
  const place = addPlace(charging, ONE_NAN, cursor.at);
  charging.places.amount[place] = kind;
  planning.nans |= 1 << kind;
}

function isTaken({ cursor }: Planning, kind: number): boolean {
  const { bytes, at, end } = cursor;
  const opcode = bytes[at] as number;
  if (opcode !== OP.simdPrefix) return SINGLE_TAKES[opcode] === kind;
  return SIMD_TAKES[readU32(cursorOn(bytes, at + 1, end))] === kind;
}
