import { type Cursor, readByte, readU32, skipNumber } from './cursor.ts';
import type { ModuleLimits } from './limits.ts';
import { readConstant } from './read-constant.ts';
import { readValueType } from './value-kinds.ts';
import { malformed, tooLarge } from './wasm-error.ts';

const NOT_ACTIVE = 0x01;
/** An active segment that names its table, or a passive one that is only declared. */
const EXPLICIT = 0x02;
const EXPRESSIONS = 0x04;

/** Moves over the element segments, and adds the functions they refer to. */
export function readElements(cursor: Cursor, limits: ModuleLimits, referred: Set<number>): void {
  if (cursor.at === cursor.end) return;
  const count = readU32(cursor);
  if (count > limits.elementSegments) throw tooLarge('Element segments', count, limits.elementSegments);
  for (let index = 0; index < count; index += 1) readSegment(cursor, limits, referred);
}

function readSegment(cursor: Cursor, limits: ModuleLimits, referred: Set<number>): void {
  const flags = readU32(cursor);
  if (flags > 7) throw malformed('An element segment has flags that mean nothing.');
  const isActive = (flags & NOT_ACTIVE) === 0;
  if (isActive && (flags & EXPLICIT) !== 0) skipNumber(cursor, 5);
  if (isActive) readConstant(cursor, referred);
  const hasExpressions = (flags & EXPRESSIONS) !== 0;
  if ((flags & (NOT_ACTIVE | EXPLICIT)) !== 0) {
    if (hasExpressions) readValueType(cursor);
    else readByte(cursor);
  }
  const length = readU32(cursor);
  if (length > limits.tableElements) throw tooLarge('Elements of a segment', length, limits.tableElements);
  for (let element = 0; element < length; element += 1) {
    if (hasExpressions) readConstant(cursor, referred);
    else referred.add(readU32(cursor));
  }
}
