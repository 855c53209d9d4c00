import { addPlace, charge } from './charging.ts';
import { skipNumber } from './cursor.ts';
import { BULK_CHARGE } from './meter-plan.ts';
import { CONTROL } from './opcodes.ts';
import { grow, type Planning } from './planning.ts';
import { BULK, BULK_COSTS } from './prefixed-opcodes.ts';
import { skipImmediates } from './skip-immediates.ts';
import { unsupported } from './wasm-error.ts';

/** A page of memory costs as much as filling an eighth of it: V8 gives pages that nobody has touched. */
const GROW_SHIFT = -10;
const WIDE_ARITHMETIC = 19;

/** What follows 0xfc. */
export function planBulk(planning: Planning, opcode: number, at: number): void {
  const { cursor, charging } = planning;
  const follows = BULK.follows[opcode];
  if (follows === undefined || opcode > 17) {
    throw unsupported(opcode >= WIDE_ARITHMETIC ? 'wide arithmetic' : 'memory control (an unknown bulk instruction)');
  }
  if (!planning.dead) charge(charging, at, 1);
  const cost = BULK_COSTS.get(opcode);
  if (follows === CONTROL && cost !== undefined) {
    planLength(planning, at, cost.shift);
    for (let index = 0; index < cost.indexes; index += 1) skipNumber(cursor, 5);
  } else skipImmediates(cursor, follows);
  grow(planning, BULK.grows[opcode] as number);
}

export function planMemoryGrow(planning: Planning, at: number): void {
  if (!planning.dead) charge(planning.charging, at, 1);
  planLength(planning, at, GROW_SHIFT);
  skipNumber(planning.cursor, 5);
}

/** SECURITY: T-26 — one instruction that fills four gigabytes is paid for by its length, before it begins. */
function planLength(planning: Planning, at: number, shift: number): void {
  const { charging } = planning;
  const place = addPlace(charging, BULK_CHARGE, at);
  charging.places.amount[place] = shift;
  charging.places.depth[place] = planning.open.top;
  planning.hasBulk = true;
}
