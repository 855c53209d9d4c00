/** A piece of a script: a word, a string (its bytes), or a list in parentheses. */
export type Node =
  | { readonly kind: 'word'; readonly text: string; readonly start: number; readonly end: number }
  | { readonly kind: 'string'; readonly bytes: Uint8Array; readonly start: number; readonly end: number }
  | ListNode;

export interface ListNode {
  readonly kind: 'list';
  /** `(@…)`: a note that changes nothing. */
  readonly isAnnotation: boolean;
  readonly items: readonly Node[];
  readonly start: number;
  readonly end: number;
}

class WastSyntaxError extends Error {}

/** The forms that stand at the top of a script, in order. Throws `WastSyntaxError`. */
export function parseForms(source: string): readonly ListNode[] {
  const stack: { items: Node[]; start: number; isAnnotation: boolean }[] = [];
  const forms: ListNode[] = [];
  // One expression for everything: what matches none of the others is one character that belongs nowhere.
  const token = /\s+|;;[^\n\r]*|\$?"[^"\\]*(?:\\.[^"\\]*)*"|\(;|\(@|[()]|[^\s()";]+|./gsy;
  for (let match = token.exec(source); match !== null; match = token.exec(source)) {
    const text = match[0];
    const start = match.index;
    const end = token.lastIndex;
    if (/^\s/.test(text) || text.startsWith(';;')) continue;
    if (text === '(;') {
      token.lastIndex = endOfComment(source, start);
      continue;
    }
    if (text === '(' || text === '(@') {
      stack.push({ items: [], start, isAnnotation: text === '(@' });
      continue;
    }
    const top = stack.at(-1);
    if (text === ')') {
      if (top === undefined) throw new WastSyntaxError(`A parenthesis closes nothing at ${start}.`);
      stack.pop();
      const list: ListNode = { kind: 'list', ...top, end };
      const parent = stack.at(-1);
      if (parent === undefined) forms.push(list);
      else parent.items.push(list);
      continue;
    }
    if (top === undefined) throw new WastSyntaxError(`Something stands outside all parentheses at ${start}.`);
    if (text.startsWith('"')) top.items.push({ kind: 'string', bytes: bytesOf(text.slice(1, -1)), start, end });
    else top.items.push({ kind: 'word', text, start, end });
  }
  if (stack.length > 0) throw new WastSyntaxError('A parenthesis is not closed.');
  return forms;
}

/** The source with spaces for annotations, which not every assembler reads. Places stay what they were. */
export function withoutAnnotations(source: string): string {
  if (!source.includes('(@')) return source;
  return parseForms(source).reduce(blanked, source);
}

function blanked(source: string, node: Node): string {
  if (node.kind !== 'list') return source;
  if (!node.isAnnotation) return node.items.reduce(blanked, source);
  const { start, end } = node;
  return source.slice(0, start) + ' '.repeat(end - start) + source.slice(end);
}

/** The first word of a list. */
export function headOf(node: Node | undefined): string {
  const first = node?.kind === 'list' ? node.items[0] : undefined;
  return first?.kind === 'word' ? first.text : '';
}

export function wordOf(node: Node | undefined): string | undefined {
  return node?.kind === 'word' ? node.text : undefined;
}

export function stringOf(node: Node | undefined): string | undefined {
  return node?.kind === 'string' ? new TextDecoder('utf-8', { ignoreBOM: true }).decode(node.bytes) : undefined;
}

function endOfComment(source: string, start: number): number {
  let depth = 0;
  for (let at = start; at < source.length; at += 1) {
    const two = source.slice(at, at + 2);
    if (two === '(;') depth += 1;
    else if (two === ';)') depth -= 1;
    else continue;
    at += 1;
    if (depth === 0) return at + 1;
  }
  throw new WastSyntaxError('A comment is not closed.');
}

const NAMED: Readonly<Record<string, number>> = { t: 9, n: 10, r: 13, '"': 34, "'": 39, '\\': 92 };

function bytesOf(text: string): Uint8Array {
  const bytes: number[] = [];
  const encoder = new TextEncoder();
  const piece = /\\u\{([0-9a-fA-F_]+)\}|\\([0-9a-fA-F]{2})|\\(.)|[^\\]+/gsy;
  for (let match = piece.exec(text); match !== null; match = piece.exec(text)) {
    const [whole, scalar, hex, named] = match;
    if (scalar !== undefined) {
      bytes.push(...encoder.encode(String.fromCodePoint(Number.parseInt(scalar.replaceAll('_', ''), 16))));
    } else if (hex !== undefined) bytes.push(Number.parseInt(hex, 16));
    else if (named !== undefined) bytes.push(NAMED[named] ?? named.charCodeAt(0));
    else for (const byte of encoder.encode(whole)) bytes.push(byte);
  }
  return Uint8Array.from(bytes);
}
