import { FileFailure } from './file-failure.ts';
import { rewritePattern } from './rewrite-pattern.ts';
import type { SearchInput } from './tool-shapes.ts';

export interface LinePattern {
  /** Where in the line it begins, or -1. */
  find(line: string): number;
  /** False when no line of the text can hold it; absent when that is not known. */
  mayMatch?(text: string): boolean;
}

/** V8's own flag: not in the language, and known only with `--enable-experimental-regexp-engine`. */
const LINEAR: string = 'l';

/** Throws `FileFailure`. */
export function compileLinePattern({ pattern, kind = 'literal', ignore_case = false }: SearchInput): LinePattern {
  if (kind === 'literal') return literalPattern(pattern, ignore_case);
  const rewritten = rewritePattern(pattern, { ignoreCase: ignore_case });
  proveLinear(rewritten, pattern);
  const regex = new RegExp(rewritten);
  return { find: (line) => regex.exec(line)?.index ?? -1 };
}

function literalPattern(pattern: string, ignoreCase: boolean): LinePattern {
  if (pattern.includes('\n')) {
    throw new FileFailure('file.pattern_refused', 'Lines are searched one by one, and the pattern holds a line end.');
  }
  if (!ignoreCase) return { find: (line) => line.indexOf(pattern), mayMatch: (text) => text.includes(pattern) };
  const folded = pattern.toLowerCase();
  return { find: (line) => line.toLowerCase().indexOf(folded) };
}

/**
 * SECURITY: T-17 — a pattern that backtracks holds the worker for as long as its author likes. V8's second engine takes
 * only what it can match in linear time (`l`); the worker's flags let the first one hand over to it after so many steps.
 */
function proveLinear(rewritten: string, pattern: string): void {
  try {
    void new RegExp(rewritten, LINEAR);
  } catch {
    throw new FileFailure('file.pattern_refused', `The pattern ${JSON.stringify(pattern)} cannot be searched for.`, {
      fix: 'Use a plainer regular expression, or kind "literal".',
    });
  }
}
