import type { SourcePosition } from './source-position.ts';

/** One policy as it stands in its file: from its first annotation to its semicolon. */
export interface PolicyStatement {
  readonly text: string;
  readonly position: SourcePosition;
}

/**
 * Cuts a policy file into its policies, in file order. Cedar's own splitter tells neither place nor order, and in
 * Cedar a semicolon outside strings and comments only ever ends a policy. This is not a parser: `splitPolicies`
 * holds the cuts against Cedar's. Text after the last semicolon is left out.
 */
export function policyStatements(source: string): readonly PolicyStatement[] {
  const statements: PolicyStatement[] = [];
  const cursor: Cursor = { offset: 0, line: 1, column: 1 };
  let start: Cursor | undefined;
  for (const [token] of source.matchAll(TOKEN)) {
    if (start === undefined && !BLANK.test(token)) start = { ...cursor };
    advance(cursor, token);
    if (token === ';' && start !== undefined) {
      const position = { line: start.line, column: start.column };
      statements.push({ text: source.slice(start.offset, cursor.offset), position });
      start = undefined;
    }
  }
  return statements;
}

interface Cursor {
  offset: number;
  line: number;
  column: number;
}

/** White space, a comment, a string (perhaps without its end), or one character of anything else. */
const TOKEN = /\s+|\/\/[^\n\r]*|"(?:[^"\\]|\\.)*"?|./gsu;
const BLANK = /^(?:\s|\/\/)/u;

function advance(cursor: Cursor, token: string): void {
  cursor.offset += token.length;
  for (const character of token) {
    if (character === '\n') {
      cursor.line += 1;
      cursor.column = 1;
    } else {
      cursor.column += 1;
    }
  }
}
