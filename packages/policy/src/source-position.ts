/** A place in a text as an editor shows it: both count from 1, and columns count characters, not bytes. */
export interface SourcePosition {
  readonly line: number;
  readonly column: number;
}

export const START_OF_TEXT: SourcePosition = { line: 1, column: 1 };

/** Cedar counts in bytes of UTF-8. An offset beyond the text gives its end. */
export function positionAtByte(text: string, byteOffset: number): SourcePosition {
  let bytes = 0;
  let line = 1;
  let column = 1;
  for (const character of text) {
    if (bytes >= byteOffset) break;
    bytes += utf8Length(character.codePointAt(0) ?? 0);
    if (character === '\n') {
      line += 1;
      column = 1;
    } else {
      column += 1;
    }
  }
  return { line, column };
}

/** Where `inner`, a place in a part of a text, is in the whole when the part begins at `start`. */
export function positionInWhole(start: SourcePosition, inner: SourcePosition): SourcePosition {
  if (inner.line === 1) return { line: start.line, column: start.column + inner.column - 1 };
  return { line: start.line + inner.line - 1, column: inner.column };
}

function utf8Length(codePoint: number): number {
  if (codePoint < 0x80) return 1;
  if (codePoint < 0x800) return 2;
  return codePoint < 0x10000 ? 3 : 4;
}
