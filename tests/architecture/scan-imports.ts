import { type Token, tokenize } from './tokenize.ts';

/** One module another is named by: `import`, `export … from`, `import()`, `require()`, types included. */
export interface ImportSite {
  readonly specifier: string;
  /** From 1. */
  readonly line: number;
}

const LOADERS = new Set(['require', 'getBuiltinModule']);

/** All module specifiers written as literals in a TypeScript or JavaScript source. A computed `import(x)` is not seen. */
export function scanImports(source: string): ImportSite[] {
  const tokens = tokenize(source);
  return tokens.flatMap((token, index) => {
    const found = specifierAt(tokens, index);
    return found === undefined ? [] : [{ specifier: found, line: token.line }];
  });
}

function specifierAt(tokens: readonly Token[], index: number): string | undefined {
  const token = tokens[index];
  if (token?.kind !== 'word' || isProperty(tokens, index)) return undefined;
  if (token.text === 'import') return literal(tokens[index + 1]) ?? called(tokens, index) ?? from(tokens, index + 1);
  if (token.text === 'export') return startsReExport(tokens, index + 1) ? from(tokens, index + 1) : undefined;
  return LOADERS.has(token.text) ? called(tokens, index) : undefined;
}

/** `process.getBuiltinModule` is the one method that loads modules; `x.import` and `x.require` are somebody's own. */
function isProperty(tokens: readonly Token[], index: number): boolean {
  const before = tokens[index - 1];
  return before?.kind === 'mark' && before.text === '.' && tokens[index]?.text !== 'getBuiltinModule';
}

function literal(token: Token | undefined): string | undefined {
  return token?.kind === 'string' ? token.text : undefined;
}

function called(tokens: readonly Token[], index: number): string | undefined {
  return tokens[index + 1]?.text === '(' && tokens[index + 1]?.kind === 'mark' ? literal(tokens[index + 2]) : undefined;
}

/** `export const x = …` must not search on: only `export {`, `export *` and the same after `type` can name a module. */
function startsReExport(tokens: readonly Token[], index: number): boolean {
  const first = tokens[index]?.text === 'type' ? tokens[index + 1] : tokens[index];
  return first?.kind === 'mark' && (first.text === '{' || first.text === '*');
}

/** Walks over bindings, which are words, commas, stars, braces and quoted names, up to `from '…'`. */
function from(tokens: readonly Token[], start: number): string | undefined {
  for (let index = start; index < tokens.length; index += 1) {
    const token = tokens[index];
    const next = tokens[index + 1];
    if (token?.kind === 'word' && token.text === 'from' && next?.kind === 'string') return next.text;
    if (token?.kind === 'mark' && !'{},*'.includes(token.text)) return undefined;
    // `export { a }` ends at its brace when no `from` follows.
    if (token?.text === '}' && next?.text !== 'from') return undefined;
  }
  return undefined;
}
