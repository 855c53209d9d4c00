import { type Cursor, readU32, skipBytes, skipNumber } from './cursor.ts';
import {
  ADDRESS,
  ADDRESS_LANE,
  BYTES_16,
  FLOAT32,
  FLOAT64,
  HEAP_TYPE,
  INDEX,
  INT32,
  INT64,
  LANE,
  NOTHING,
  TWO_INDEXES,
  VALUE_TYPES,
} from './opcodes.ts';
import { readHeapType, readValueType } from './value-kinds.ts';
import { malformed } from './wasm-error.ts';

/** Moves over what follows an opcode, for all kinds but `CONTROL`, `PREFIX` and `UNKNOWN`. */
export function skipImmediates(cursor: Cursor, follows: number): void {
  switch (follows) {
    case NOTHING:
      break;
    case INDEX:
    case INT32:
      skipNumber(cursor, 5);
      break;
    case TWO_INDEXES:
      skipNumber(cursor, 5);
      skipNumber(cursor, 5);
      break;
    case ADDRESS:
      skipAddress(cursor);
      break;
    case INT64:
      skipNumber(cursor, 10);
      break;
    case FLOAT32:
      skipBytes(cursor, 4);
      break;
    case FLOAT64:
      skipBytes(cursor, 8);
      break;
    case BYTES_16:
      skipBytes(cursor, 16);
      break;
    case LANE:
      skipBytes(cursor, 1);
      break;
    case ADDRESS_LANE:
      skipAddress(cursor);
      skipBytes(cursor, 1);
      break;
    case HEAP_TYPE:
      readHeapType(cursor);
      break;
    case VALUE_TYPES:
      skipValueTypes(cursor);
      break;
    default:
      throw malformed('An instruction stands where none of its kind can.');
  }
}

const NAMES_MEMORY = 0x40;

function skipAddress(cursor: Cursor): void {
  const alignment = readU32(cursor);
  // There is one memory at most, so the index can only be 0, but it may be written.
  if ((alignment & NAMES_MEMORY) !== 0) skipNumber(cursor, 5);
  skipNumber(cursor, 10);
}

function skipValueTypes(cursor: Cursor): void {
  const count = readU32(cursor);
  if (count > 1) throw malformed('An instruction names more types than it can have.');
  for (let index = 0; index < count; index += 1) readValueType(cursor);
}
