import { PrimitivesError, type PrimitivesErrorCode } from './primitives-error.ts';

/** Where in a text: `offset` in UTF-16 code units from 0, `line` and `column` from 1. */
export interface TextPosition {
  readonly offset: number;
  readonly line: number;
  readonly column: number;
}

/** JSON text that was refused, and where. The text itself is never quoted: it may be confidential. */
export class JsonTextError extends PrimitivesError {
  readonly position: TextPosition;

  constructor(code: PrimitivesErrorCode, problem: string, position: TextPosition, fix: string) {
    super(code, `${problem} at line ${position.line}, column ${position.column} (offset ${position.offset}).`, { fix });
    this.position = position;
  }
}

/** A place in a text being parsed. */
export interface JsonCursor {
  readonly text: string;
  offset: number;
}

const WHITE_SPACE = /[ \t\n\r]*/y;

export function skipWhiteSpace(cursor: JsonCursor): void {
  WHITE_SPACE.lastIndex = cursor.offset;
  WHITE_SPACE.test(cursor.text);
  cursor.offset = WHITE_SPACE.lastIndex;
}

/** Moves past `expected` when the text continues with it. */
export function take(cursor: JsonCursor, expected: string): boolean {
  if (!cursor.text.startsWith(expected, cursor.offset)) return false;
  cursor.offset += expected.length;
  return true;
}

/** The whole match of a sticky pattern here, or undefined. Moves past it. */
export function takeMatch(cursor: JsonCursor, sticky: RegExp): string | undefined {
  sticky.lastIndex = cursor.offset;
  if (!sticky.test(cursor.text)) return undefined;
  const start = cursor.offset;
  cursor.offset = sticky.lastIndex;
  return cursor.text.slice(start, cursor.offset);
}

export function positionOf(text: string, offset: number): TextPosition {
  let line = 1;
  let lineStart = 0;
  for (let next = text.indexOf('\n'); next !== -1 && next < offset; next = text.indexOf('\n', lineStart)) {
    line += 1;
    lineStart = next + 1;
  }
  return { offset, line, column: offset - lineStart + 1 };
}

export function syntaxError(cursor: JsonCursor, expected: string): JsonTextError {
  const problem = `The text is not JSON: ${expected} was expected`;
  const position = positionOf(cursor.text, cursor.offset);
  return new JsonTextError('primitives.json_syntax', problem, position, 'Give JSON text as RFC 8259 describes it.');
}
