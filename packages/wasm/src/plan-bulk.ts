import { addPlace, charge } from './charging.ts';
import { skipNumber } from './cursor.ts';
import { BULK_CHARGE, NOTE_GROWTH } from './meter-plan.ts';
import { CONTROL } from './opcodes.ts';
import { grow, type Planning } from './planning.ts';
import { BULK, BULK_COSTS, TABLE } from './prefixed-opcodes.ts';
import { skipImmediates } from './skip-immediates.ts';
import { unsupported } from './wasm-error.ts';

/** A page of memory costs as much as filling an eighth of it: V8 gives pages that nobody has touched. */
const GROW_SHIFT = -10;
/** V8 makes the memory's buffer anew, also when nothing is added. */
const GROW_BASE = 1_024;
const WIDE_ARITHMETIC = { from: 19, to: 22 };
/** `data.drop` and `elem.drop`. */
const DROPS = new Set([9, 13]);
/** `table.init`, `copy`, `grow` and `fill`. */
const TABLE_CHANGES = new Set([12, 14, 15, 17]);

/** What follows 0xfc. */
export function planBulk(planning: Planning, opcode: number, at: number): void {
  const { cursor, charging } = planning;
  const follows = BULK.follows[opcode];
  if (follows === undefined || opcode > 17) {
    const isWide = opcode >= WIDE_ARITHMETIC.from && opcode <= WIDE_ARITHMETIC.to;
    throw unsupported(isWide ? 'wide arithmetic' : 'an instruction after 0xfc that is not known');
  }
  planning.dropsSegments ||= DROPS.has(opcode);
  planning.changesTables ||= TABLE_CHANGES.has(opcode);
  const cost = BULK_COSTS.get(opcode);
  if (!planning.dead) charge(charging, at, cost?.base ?? 1);
  if (follows === CONTROL && cost !== undefined) {
    planLength(planning, at, cost.shift);
    for (let index = 0; index < cost.indexes; index += 1) skipNumber(cursor, 5);
  } else skipImmediates(cursor, follows);
  grow(planning, BULK.grows[opcode] as number);
}

export function planMemoryGrow(planning: Planning, at: number): void {
  if (!planning.dead) charge(planning.charging, at, GROW_BASE);
  planLength(planning, at, GROW_SHIFT);
  skipNumber(planning.cursor, 5);
  if (!planning.dead) addPlace(planning.charging, NOTE_GROWTH, planning.cursor.at);
}

/** As a bulk instruction of one element. */
export function planTableSet(planning: Planning, at: number): void {
  if (!planning.dead) charge(planning.charging, at, TABLE.base);
  planning.changesTables = true;
  skipNumber(planning.cursor, 5);
  grow(planning, -2);
}

/** SECURITY: T-26 — one instruction that fills four gigabytes is paid for by its length, before it begins. */
function planLength(planning: Planning, at: number, shift: number): void {
  const { charging } = planning;
  const place = addPlace(charging, BULK_CHARGE, at);
  charging.places.amount[place] = shift;
  charging.places.depth[place] = planning.open.top;
  planning.hasBulk = true;
}
