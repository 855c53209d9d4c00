import { type ByteSink, putByte, putBytes, putPositive, putRange, putU32 } from './byte-sink.ts';
import { cursorOn, readU32 } from './cursor.ts';
import {
  BEFORE_CALL,
  BEFORE_HOST_CALL,
  type BodyPlan,
  BULK_CHARGE,
  CHARGE,
  LEAVE,
  LOOP_CHARGE,
  type MeterPlaces,
  NOTE_GROWTH,
  ONE_NAN,
  RELOAD,
} from './meter-plan.ts';
import { OP } from './opcodes.ts';
import { type NanLocals, nanLocalsFrom, putNanLocals, putOneNan } from './write-nan.ts';

/** Where the meter's things are in one module. */
export interface MeterIndexes {
  readonly fuelGlobal: number;
  readonly stackGlobal: number;
  readonly growthGlobal: number;
  /** How the block is written that gives the results of a function of this type. */
  resultBlock(type: number): ArrayLike<number>;
}

/** One body and how it is metered. */
interface Writing extends MeterIndexes {
  readonly sink: ByteSink;
  /** Fuel is kept in a local, and written back wherever somebody else may look. */
  readonly isCached: boolean;
  /** Whether the function counts itself on the stack. */
  readonly isCounted: boolean;
  readonly fuelLocal: number;
  readonly stackLocal: number;
  readonly lengthLocal: number;
  readonly nanLocals: NanLocals;
}

interface BodySource {
  readonly bytes: Uint8Array;
  readonly places: MeterPlaces;
}

const [I64, I32, EMPTY] = [0x7e, 0x7f, 0x40];
/** What the host has on the stack when it calls the guest again: a guest that is called through it is as deep as its host. */
const HOST_SLOTS = 128;
/** A function that calls nothing is counted only when its frame is larger than this. */
const UNCOUNTED_SLOTS = 128;

/** Writes the body with its meter. The bytes between the places are copied as they are. */
export function writeBody(
  sink: ByteSink,
  { bytes, places }: BodySource,
  { body, indexes }: { readonly body: BodyPlan; readonly indexes: MeterIndexes },
): void {
  if (body.isUnmetered) {
    writeUnmetered(sink, { bytes, places }, body);
    return;
  }
  const isCounted = body.calls > 0 || body.frameSlots > UNCOUNTED_SLOTS;
  const writing: Writing = {
    ...indexes,
    sink,
    isCached: isWorthCaching(body),
    isCounted,
    fuelLocal: body.locals,
    stackLocal: body.locals + 1,
    lengthLocal: body.locals + (isCounted ? 2 : 1),
    nanLocals: nanLocalsFrom(body.locals + (isCounted ? 2 : 1) + (body.hasBulk ? 1 : 0), body.nans),
  };
  writeLocals(writing, body, bytes);
  writeEntry(writing, body, places.amount[body.firstPlace] as number);
  let at = body.code;
  for (let place = body.firstPlace + 1; place < body.endPlace; place += 1) {
    const next = places.at[place] as number;
    putRange(sink, bytes, at, next);
    at = next;
    writePlace(writing, places, place);
  }
  putRange(sink, bytes, at, body.end);
  if (writing.isCached) writeExit(writing);
}

/** As it came, but for its NaNs. */
function writeUnmetered(sink: ByteSink, { bytes, places }: BodySource, body: BodyPlan): void {
  if (body.nans === 0) {
    putRange(sink, bytes, body.start, body.end);
    return;
  }
  const nanLocals = nanLocalsFrom(body.locals, body.nans);
  const cursor = cursorOn(bytes, body.start, body.code);
  putU32(sink, readU32(cursor) + nanLocals.size);
  putRange(sink, bytes, cursor.at, body.code);
  putNanLocals(sink, nanLocals);
  let at = body.code;
  for (let place = body.firstPlace; place < body.endPlace; place += 1) {
    if (places.kind[place] !== ONE_NAN) continue;
    const next = places.at[place] as number;
    putRange(sink, bytes, at, next);
    at = next;
    putOneNan(sink, places.amount[place] as number, nanLocals);
  }
  putRange(sink, bytes, at, body.end);
}

/** A local costs a store and a load around every call, a global costs them at every charge. */
function isWorthCaching({ loops, calls, charges, hasTryTable }: BodyPlan): boolean {
  return !hasTryTable && (loops > 0 || charges > calls + 2);
}

function writeLocals({ sink, isCounted, nanLocals }: Writing, body: BodyPlan, bytes: Uint8Array): void {
  const cursor = cursorOn(bytes, body.start, body.code);
  const groups = readU32(cursor);
  putU32(sink, groups + (body.hasBulk ? 2 : 1) + nanLocals.size);
  putRange(sink, bytes, cursor.at, body.code);
  putBytes(sink, [isCounted ? 2 : 1, I64]);
  if (body.hasBulk) putBytes(sink, [1, I32]);
  putNanLocals(sink, nanLocals);
}

/** Takes the fuel of the first stretch and the slots of the frame, and goes no further when there is too little of either. */
function writeEntry(writing: Writing, body: BodyPlan, charge: number): void {
  const { sink, isCached } = writing;
  if (isCached) putBytes(sink, [OP.block, EMPTY]);
  put(sink, OP.globalGet, writing.fuelGlobal);
  takeConstant(sink, charge);
  put(sink, OP.localTee, writing.fuelLocal);
  if (!isCached) {
    put(sink, OP.globalSet, writing.fuelGlobal);
    put(sink, OP.localGet, writing.fuelLocal);
  }
  if (writing.isCounted) {
    put(sink, OP.globalGet, writing.stackGlobal);
    takeConstant(sink, body.frameSlots);
    put(sink, OP.localTee, writing.stackLocal);
    // Either is below zero when the bits of both together are: one look instead of two.
    putByte(sink, OP.i64Or);
  }
  stopBelowZero(writing, 0);
  if (isCached) {
    putByte(sink, OP.block);
    putBytes(sink, writing.resultBlock(body.type));
  }
}

function writePlace(writing: Writing, places: MeterPlaces, place: number): void {
  const amount = places.amount[place] as number;
  // The outermost block of the guest is ours, and around it is the one that stops.
  const outermost = (places.depth[place] as number) + 1;
  switch (places.kind[place] as number) {
    case CHARGE:
      writeCharge(writing, amount);
      break;
    case LOOP_CHARGE:
      writeLookingCharge(writing, amount, outermost);
      break;
    case BULK_CHARGE:
      writeBulkCharge(writing, amount, outermost);
      break;
    case BEFORE_HOST_CALL:
      writeLook(writing, outermost);
      writeBeforeCall(writing, HOST_SLOTS);
      break;
    case BEFORE_CALL:
      writeBeforeCall(writing, 0);
      break;
    case RELOAD:
      writeReload(writing);
      break;
    case LEAVE:
      writeBack(writing);
      break;
    case NOTE_GROWTH:
      put(writing.sink, OP.globalSet, writing.growthGlobal);
      put(writing.sink, OP.globalGet, writing.growthGlobal);
      break;
    case ONE_NAN:
      putOneNan(writing.sink, amount, writing.nanLocals);
      break;
  }
}

function writeCharge(writing: Writing, amount: number): void {
  getFuel(writing);
  takeConstant(writing.sink, amount);
  setFuel(writing);
}

function writeLookingCharge(writing: Writing, amount: number, outermost: number): void {
  getFuel(writing);
  takeConstant(writing.sink, amount);
  setAndKeepFuel(writing);
  stopBelowZero(writing, outermost);
}

function writeBulkCharge(writing: Writing, shift: number, outermost: number): void {
  const { sink, lengthLocal } = writing;
  put(sink, OP.localTee, lengthLocal);
  getFuel(writing);
  put(sink, OP.localGet, lengthLocal);
  putByte(sink, OP.i64ExtendUnsigned);
  if (shift !== 0) {
    putByte(sink, OP.i64Const);
    putPositive(sink, Math.abs(shift));
    putByte(sink, shift > 0 ? OP.i64ShiftRightUnsigned : OP.i64ShiftLeft);
  }
  putByte(sink, OP.i64Sub);
  setAndKeepFuel(writing);
  stopBelowZero(writing, outermost);
}

function writeLook(writing: Writing, outermost: number): void {
  getFuel(writing);
  stopBelowZero(writing, outermost);
}

/** SECURITY: T-26 — the callee counts on from here: a local that is not written back would make its loops free. */
function writeBeforeCall(writing: Writing, slots: number): void {
  const { sink } = writing;
  writeBack(writing);
  put(sink, OP.localGet, writing.stackLocal);
  if (slots > 0) takeConstant(sink, slots);
  put(sink, OP.globalSet, writing.stackGlobal);
}

function writeReload({ sink, isCached, fuelGlobal, fuelLocal }: Writing): void {
  if (!isCached) return;
  put(sink, OP.globalGet, fuelGlobal);
  put(sink, OP.localSet, fuelLocal);
}

function writeBack({ sink, isCached, fuelGlobal, fuelLocal }: Writing): void {
  if (!isCached) return;
  put(sink, OP.localGet, fuelLocal);
  put(sink, OP.globalSet, fuelGlobal);
}

/** The guest's body has just ended with `end`, which closed our inner block. Then comes where its looks jump to. */
function writeExit(writing: Writing): void {
  const { sink } = writing;
  writeBack(writing);
  putBytes(sink, [OP.return, OP.end]);
  writeBack(writing);
  writeStop(writing);
  putByte(sink, OP.end);
}

/** Stops when the number on the stack is below zero; `outermost` is how many blocks lie around. */
function stopBelowZero(writing: Writing, outermost: number): void {
  const { sink } = writing;
  putBytes(sink, [OP.i64Const, 0, OP.i64LessSigned]);
  if (writing.isCached) {
    put(sink, OP.brIf, outermost);
    return;
  }
  putBytes(sink, [OP.if, EMPTY]);
  writeStop(writing);
  putByte(sink, OP.end);
}

/** The host tells from the counters which of them ended the call. */
function writeStop({ sink, isCounted, stackGlobal, stackLocal }: Writing): void {
  if (isCounted) {
    put(sink, OP.localGet, stackLocal);
    put(sink, OP.globalSet, stackGlobal);
  }
  putByte(sink, OP.unreachable);
}

function getFuel({ sink, isCached, fuelGlobal, fuelLocal }: Writing): void {
  if (isCached) put(sink, OP.localGet, fuelLocal);
  else put(sink, OP.globalGet, fuelGlobal);
}

function setFuel({ sink, isCached, fuelGlobal, fuelLocal }: Writing): void {
  if (isCached) put(sink, OP.localSet, fuelLocal);
  else put(sink, OP.globalSet, fuelGlobal);
}

function setAndKeepFuel(writing: Writing): void {
  const { sink, isCached, fuelGlobal, fuelLocal } = writing;
  put(sink, OP.localTee, fuelLocal);
  if (isCached) return;
  put(sink, OP.globalSet, fuelGlobal);
  put(sink, OP.localGet, fuelLocal);
}

function takeConstant(sink: ByteSink, amount: number): void {
  putByte(sink, OP.i64Const);
  putPositive(sink, amount);
  putByte(sink, OP.i64Sub);
}

function put(sink: ByteSink, opcode: number, index: number): void {
  putByte(sink, opcode);
  putU32(sink, index);
}
