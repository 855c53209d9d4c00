import { canCallersPay, letCallersPay } from './caller-pays.ts';
import { beginPayer, charge } from './charging.ts';
import { checkCompileWork } from './compile-work.ts';
import { readU32, skipNumber } from './cursor.ts';
import { frameSlotsOf } from './frame-slots.ts';
import type { ModuleLimits } from './limits.ts';
import { type BodyPlan, CHARGE, type MeterPlan } from './meter-plan.ts';
import { type ModuleShape, SECTION } from './module-shape.ts';
import { NO_NAN, SIMD_NANS, SINGLE_NANS } from './nan-makers.ts';
import { CONTROL, INDEX, NOTHING, OP, PREFIX, proposalOf, SINGLE } from './opcodes.ts';
import { planBulk } from './plan-bulk.ts';
import { openBody, planControl } from './plan-control.ts';
import { planNan } from './plan-nan.ts';
import { createPlanning, grow, type Planning, resetFor } from './planning.ts';
import { SIMD } from './prefixed-opcodes.ts';
import { skipImmediates } from './skip-immediates.ts';
import { readValueType } from './value-kinds.ts';
import { malformed, tooLarge, unsupported } from './wasm-error.ts';

const SMALLEST_BODY = 2;

/** Reads every body once and says where fuel is charged. Throws `WasmError`; V8 has not seen the module yet. */
export function planBodies(shape: ModuleShape, limits: ModuleLimits): MeterPlan {
  const section = shape.sections.get(SECTION.code);
  const declared = shape.functionTypes.length - shape.importedFunctions;
  const planning = createPlanning(shape, limits);
  const { cursor } = planning;
  if (section === undefined) return noBodies(planning, declared);
  cursor.at = section.start;
  cursor.end = section.end;
  const count = readU32(cursor);
  if (count !== declared) throw malformed('There are more or fewer bodies than functions.');
  const bodies: BodyPlan[] = [];
  let localsLeft = limits.totalLocals;
  let workLeft = limits.totalCompileWork;
  for (let index = 0; index < count; index += 1) {
    const size = readU32(cursor);
    if (size > limits.bodyBytes) throw tooLarge('Bytes of a body', size, limits.bodyBytes);
    if (size < SMALLEST_BODY || size > section.end - cursor.at) throw malformed('A body does not fit its section.');
    const next = cursor.at + size;
    cursor.end = next;
    const body = planBody(planning, shape.importedFunctions + index);
    bodies.push(body);
    workLeft = checkCompileWork(planning, workLeft);
    // SECURITY: T-26 — three bytes declare thousands of locals, in each of thousands of functions.
    localsLeft -= body.locals;
    if (localsLeft < 0) throw tooLarge('Locals of all functions', limits.totalLocals - localsLeft, limits.totalLocals);
    cursor.at = next;
    cursor.end = section.end;
  }
  const { changesTables, dropsSegments } = planning;
  const plan = { places: planning.charging.places, bodies, changesTables, dropsSegments };
  letCallersPay(plan, shape.importedFunctions);
  return plan;
}

function noBodies(planning: Planning, declared: number): MeterPlan {
  if (declared !== 0) throw malformed('There are functions without bodies.');
  return { places: planning.charging.places, bodies: [], changesTables: false, dropsSegments: false };
}

function planBody(planning: Planning, index: number): BodyPlan {
  const { cursor, charging, shape } = planning;
  const typeIndex = shape.functionTypes[index] as number;
  const type = shape.types[typeIndex];
  if (type === undefined) throw malformed('A function has a type that is not there.');
  const start = cursor.at;
  resetFor(planning);
  const locals = readLocals(planning, type.params);
  planning.values = locals.count;
  const code = cursor.at;
  const firstPlace = charging.places.length;
  beginPayer(charging, CHARGE, code);
  // Locals are set to zero whenever the function is entered.
  charge(charging, code, 1 + (locals.slots >> 2));
  openBody(planning, type);
  planInstructions(planning);
  const frameSlots = frameSlotsOf(planning, type, locals.slots);
  const { loops, calls, hasBulk, nans, hasTryTable } = planning;
  return {
    type: typeIndex,
    start,
    code,
    end: cursor.end,
    firstPlace,
    endPlace: charging.places.length,
    locals: locals.count,
    frameSlots,
    charges: charging.charges,
    loops,
    calls,
    hasBulk,
    nans,
    hasTryTable,
    isUnmetered: isLeftToCallers(planning, index) && canCallersPay(charging.places, firstPlace, frameSlots),
  };
}

function isLeftToCallers({ shape, loops, calls, hasBulk }: Planning, index: number): boolean {
  // SECURITY: T-26 — what the host calls has no caller that pays, and would run without any fuel.
  return loops + calls === 0 && !hasBulk && !shape.entries.has(index);
}

/** The declared locals: how many there are with the parameters, and the slots of those that are not parameters. */
function readLocals(planning: Planning, params: number) {
  const { cursor, limits } = planning;
  let count = params;
  let slots = 0;
  const groups = readU32(cursor);
  if (groups > limits.locals) throw tooLarge('Groups of locals of a function', groups, limits.locals);
  for (let group = 0; group < groups; group += 1) {
    const more = readU32(cursor);
    count += more;
    if (count > limits.locals) throw tooLarge('Locals of a function', count, limits.locals);
    const each = readValueType(cursor);
    if (each === 2) planning.hasVectors = true;
    slots += more * each;
  }
  return { count, slots };
}

function planInstructions(planning: Planning): void {
  const { cursor, charging } = planning;
  const { bytes, end } = cursor;
  const { follows: singleFollows, grows } = SINGLE;
  let instructions = 0;
  while (cursor.at < end && !planning.ended) {
    const at = cursor.at;
    const opcode = bytes[at] as number;
    instructions += 1;
    cursor.at = at + 1;
    const follows = singleFollows[opcode] as number;
    if (follows < CONTROL) {
      if (!planning.dead) charge(charging, at, 1);
      grow(planning, grows[opcode] as number);
      if (follows === INDEX) skipNumber(cursor, 5);
      else if (follows !== NOTHING) skipImmediates(cursor, follows);
      else if (SINGLE_NANS[opcode] !== NO_NAN) planNan(planning, SINGLE_NANS[opcode] as number);
    } else if (follows === CONTROL) planControl(planning, opcode, at);
    else if (follows === PREFIX) planPrefixed(planning, opcode, at);
    else throw unknownOpcode(opcode);
  }
  planning.instructions = instructions;
  if (!planning.ended || cursor.at !== end) throw malformed('A body does not end where it says.');
}

function planPrefixed(planning: Planning, prefix: number, at: number): void {
  const { cursor, charging } = planning;
  const opcode = readU32(cursor);
  if (prefix === OP.bulkPrefix) {
    planBulk(planning, opcode, at);
    return;
  }
  // SECURITY: T-26 — relaxed instructions give other results on other machines, and so other fuel and other traps.
  if (opcode > 0xff) throw unsupported('relaxed SIMD');
  if (!planning.dead) charge(charging, at, 1);
  planning.hasVectors = true;
  grow(planning, SIMD.grows[opcode] as number);
  skipImmediates(cursor, SIMD.follows[opcode] as number);
  if (SIMD_NANS[opcode] !== NO_NAN) planNan(planning, SIMD_NANS[opcode] as number);
}

function unknownOpcode(opcode: number): Error {
  const proposal = proposalOf(opcode);
  return proposal === undefined ? malformed(`There is no opcode 0x${opcode.toString(16)}.`) : unsupported(proposal);
}
