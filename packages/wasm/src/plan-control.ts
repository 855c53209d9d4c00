import { MOST_UNMETERED_FUEL } from './caller-pays.ts';
import { addPlace, beginPayer, charge, suspect } from './charging.ts';
import { countJoins, countLoop } from './compile-work.ts';
import { readByte, readS33, readU32, skipNumber } from './cursor.ts';
import { BEFORE_CALL, BEFORE_HOST_CALL, LEAVE, LOOP_CHARGE, RELOAD, UNKNOWN_CALLEE } from './meter-plan.ts';
import type { FunctionType } from './module-shape.ts';
import { OP } from './opcodes.ts';
import { LOOP, PLAIN } from './open-blocks.ts';
import { planMemoryGrow, planTableSet } from './plan-bulk.ts';
import { grow, type Planning } from './planning.ts';
import { readValueType } from './value-kinds.ts';
import { malformed, tooLarge, unsupported } from './wasm-error.ts';

/** The way to JavaScript and back; what the host then does, it takes itself. */
const HOST_CALL_FUEL = 100;
/** V8 takes microseconds to throw, which are thousands of ordinary instructions. */
const THROW_FUEL = 1_000;
/** Each is written to V8's heap in several pieces, and read from there. */
const THROWN_VALUE_FUEL = 50;

/** Instructions that branch, call, open or close. */
export function planControl(planning: Planning, opcode: number, at: number): void {
  switch (opcode) {
    case OP.block:
      openBlock(planning, PLAIN);
      break;
    case OP.try:
      openBlock(planning, PLAIN);
      planning.hasTry = true;
      break;
    case OP.loop:
      openLoop(planning);
      break;
    case OP.if:
      planIf(planning, at);
      break;
    case OP.else:
      continueBlock(planning, 0);
      break;
    case OP.catch:
    case OP.catchAll:
      planCatch(planning, opcode);
      break;
    case OP.end:
      closeBlock(planning);
      break;
    case OP.delegate:
      skipNumber(planning.cursor, 5);
      closeBlock(planning);
      break;
    case OP.tryTable:
      planTryTable(planning, at);
      break;
    case OP.call:
    case OP.callIndirect:
    case OP.callRef:
      planCall(planning, opcode, at);
      break;
    case OP.memoryGrow:
      planMemoryGrow(planning, at);
      break;
    case OP.tableSet:
      planTableSet(planning, at);
      break;
    case OP.brIf:
    case OP.brOnNull:
    case OP.brOnNonNull:
      planConditional(planning, opcode, at);
      break;
    default:
      planJump(planning, opcode, at);
      break;
  }
}

/** The body itself is the outermost block, and a branch to it returns. */
export function openBody(planning: Planning, type: FunctionType): void {
  planning.open.top = -1;
  open(planning, PLAIN, { params: 0, results: type.results });
}

interface BlockType {
  readonly params: number;
  readonly results: number;
}

const NO_VALUES: BlockType = { params: 0, results: 0 };
const ONE_RESULT: BlockType = { params: 0, results: 1 };

function openBlock(planning: Planning, kind: number): void {
  open(planning, kind, readBlockType(planning));
}

function open(planning: Planning, kind: number, { params, results }: BlockType): void {
  const { open: blocks, limits, charging } = planning;
  const index = blocks.top + 1;
  if (index > limits.nesting) throw tooLarge('Blocks inside one another', index, limits.nesting);
  blocks.top = index;
  blocks.kind[index] = kind;
  blocks.start[index] = planning.cursor.at;
  blocks.height[index] = planning.height - params;
  blocks.params[index] = params;
  blocks.results[index] = results;
  blocks.payer[index] = charging.payer;
  blocks.dead[index] = planning.dead ? 1 : 0;
  countJoins(planning, 1);
}

/** SECURITY: T-26 — whatever runs again comes by the head of a loop, and there fuel is looked at. */
function openLoop(planning: Planning): void {
  openBlock(planning, LOOP);
  const { charging, cursor, open: blocks } = planning;
  const place = beginPayer(charging, LOOP_CHARGE, cursor.at);
  charging.places.depth[place] = blocks.top;
  charge(charging, cursor.at, 1);
  planning.loops += 1;
}

function planIf(planning: Planning, at: number): void {
  if (!planning.dead) charge(planning.charging, at, 1);
  grow(planning, -1);
  openBlock(planning, PLAIN);
  suspect(planning.charging);
}

/** Another arm of the innermost block, with `values` on the stack more than its parameters. */
function continueBlock(planning: Planning, values: number): void {
  const { open: blocks, charging } = planning;
  const { top } = blocks;
  if (top < 1) throw malformed('An arm belongs to no block.');
  planning.height = (blocks.height[top] as number) + (blocks.params[top] as number);
  grow(planning, values);
  planning.dead = blocks.dead[top] === 1;
  charging.payer = blocks.payer[top] as number;
  suspect(charging);
  countJoins(planning, 1);
}

function planCatch(planning: Planning, opcode: number): void {
  const { cursor, shape, open: blocks } = planning;
  const values = opcode === OP.catch ? shape.tagTypes[readU32(cursor)] : 0;
  if (values === undefined) throw malformed('A tag is caught that is not there.');
  continueBlock(planning, values - (blocks.params[blocks.top] as number));
  addPlace(planning.charging, RELOAD, cursor.at);
}

function closeBlock(planning: Planning): void {
  const { open: blocks, charging } = planning;
  const { top } = blocks;
  if (blocks.kind[top] === LOOP) countLoop(planning, planning.cursor.at - (blocks.start[top] as number));
  if (planning.dead || blocks.kind[top] === LOOP) {
    charging.payer = blocks.payer[top] as number;
    suspect(charging);
  }
  charging.payer = blocks.payer[top] as number;
  planning.height = blocks.height[top] as number;
  grow(planning, blocks.results[top] as number);
  planning.dead = blocks.dead[top] === 1;
  countJoins(planning, 1);
  blocks.top = top - 1;
  planning.ended = top === 0;
}

function planTryTable(planning: Planning, at: number): void {
  const { cursor, limits, charging } = planning;
  if (!planning.dead) charge(charging, at, 1);
  const type = readBlockType(planning);
  const clauses = readU32(cursor);
  if (clauses > limits.branchTargets) throw tooLarge('Clauses of a try', clauses, limits.branchTargets);
  for (let index = 0; index < clauses; index += 1) {
    const kind = readByte(cursor);
    if (kind > 3) throw malformed('A clause of a try is of a kind that means nothing.');
    if (kind < 2) skipNumber(cursor, 5);
    skipNumber(cursor, 5);
  }
  open(planning, PLAIN, type);
  countJoins(planning, clauses);
  suspect(charging);
  planning.hasTry = true;
  planning.hasTryTable = true;
}

function planCall(planning: Planning, opcode: number, at: number): void {
  const { cursor, shape, charging } = planning;
  const index = readU32(cursor);
  if (opcode === OP.callIndirect) skipNumber(cursor, 5);
  const typeIndex = opcode === OP.call ? shape.functionTypes[index] : index;
  const type = typeIndex === undefined ? undefined : shape.types[typeIndex];
  if (type === undefined) throw malformed('Something is called that is not there.');
  const isHost = opcode === OP.call ? index < shape.importedFunctions : shape.hostTypes.has(index);
  if (!planning.dead) charge(charging, at, callFuel(opcode, isHost));
  const place = addPlace(charging, isHost ? BEFORE_HOST_CALL : BEFORE_CALL, at);
  if (isHost) charging.places.depth[place] = planning.open.top;
  else {
    charging.places.depth[place] = opcode === OP.call ? index : UNKNOWN_CALLEE;
    charging.places.amount[place] = charging.payer;
  }
  addPlace(charging, RELOAD, cursor.at);
  grow(planning, opcode === OP.call ? -type.params : -type.params - 1);
  grow(planning, type.results);
  planning.calls += 1;
  planning.passed = Math.max(planning.passed, type.paramSlots + type.resultSlots);
  if (planning.hasTry) countJoins(planning, 1);
}

function callFuel(opcode: number, isHost: boolean): number {
  if (isHost) return HOST_CALL_FUEL;
  // Whoever is called by reference may be a function that its callers pay for.
  return opcode === OP.call ? 1 : 1 + MOST_UNMETERED_FUEL;
}

function planConditional(planning: Planning, opcode: number, at: number): void {
  if (!planning.dead) charge(planning.charging, at, 1);
  skipNumber(planning.cursor, 5);
  if (opcode !== OP.brOnNull) grow(planning, -1);
  countJoins(planning, 1);
  suspect(planning.charging);
}

/** What never goes on behind itself. */
function planJump(planning: Planning, opcode: number, at: number): void {
  const { charging, cursor } = planning;
  const isThrow = opcode === OP.throw || opcode === OP.rethrow || opcode === OP.throwRef;
  if (!planning.dead) charge(charging, at, isThrow ? THROW_FUEL : 1);
  switch (opcode) {
    case OP.br:
      skipNumber(cursor, 5);
      countJoins(planning, 1);
      break;
    case OP.brTable:
      skipTargets(planning);
      break;
    case OP.throw:
      planThrow(planning, at);
      break;
    case OP.rethrow:
      skipNumber(cursor, 5);
      addPlace(charging, LEAVE, at);
      break;
    case OP.throwRef:
    case OP.return:
      addPlace(charging, LEAVE, at);
      break;
    case OP.unreachable:
      break;
    default:
      throw unsupported('tail calls');
  }
  planning.dead = true;
}

function planThrow({ cursor, charging, shape, dead }: Planning, at: number): void {
  const values = shape.tagTypes[readU32(cursor)];
  if (values === undefined) throw malformed('Something is thrown that is not there.');
  if (!dead) charge(charging, at, values * THROWN_VALUE_FUEL);
  addPlace(charging, LEAVE, at);
}

function skipTargets(planning: Planning): void {
  const { cursor, limits } = planning;
  const count = readU32(cursor);
  if (count > limits.branchTargets) throw tooLarge('Targets of a branch', count, limits.branchTargets);
  for (let index = 0; index <= count; index += 1) skipNumber(cursor, 5);
  countJoins(planning, count + 1);
}

const EMPTY = 0x40;

function readBlockType({ cursor, shape }: Planning): BlockType {
  const first = cursor.bytes[cursor.at] as number;
  if (cursor.at < cursor.end && first === EMPTY) {
    cursor.at += 1;
    return NO_VALUES;
  }
  if (first > EMPTY && first < 0x80) {
    readValueType(cursor);
    return ONE_RESULT;
  }
  const type = shape.types[readS33(cursor)];
  if (type === undefined) throw malformed('A block has a type that is not there.');
  return type;
}
