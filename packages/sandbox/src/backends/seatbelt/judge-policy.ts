import type { Policy } from './policy.ts';

/** One operation on one path, such as `file-read-data`. */
export interface Attempt {
  readonly operation: string;
  readonly path: string;
}

/**
 * What a profile says of an operation on a file, read back from its text: the last rule that matches counts. For tests
 * on systems that cannot ask the kernel; filters that are not about paths match nothing.
 */
export function judgePolicy({ text, parameters }: Policy, { operation, path }: Attempt): 'allow' | 'deny' {
  const values = new Map(parameters.map(({ name, value }) => [name, value]));
  let verdict: 'allow' | 'deny' = 'deny';
  for (const form of readForms(text)) {
    const [head, ...rest] = form;
    if (head !== 'allow' && head !== 'deny') continue;
    const operations = rest.filter((each) => typeof each === 'string');
    const filters = rest.filter((each) => typeof each !== 'string');
    if (!operations.some((each) => covers(each, operation))) continue;
    if (filters.length === 0 || filters.some((each) => matches(each, path, values))) verdict = head;
  }
  return verdict;
}

/** A symbol as it is, a string with its quotes taken off and a mark before it, a list as a list. */
type Form = string | readonly Form[];

const STRING_MARK = '"';

/** Throws on anything but balanced lists of symbols and strings. */
export function readForms(text: string): readonly (readonly Form[])[] {
  const stack: Form[][] = [[]];
  const token = /\s+|;[^\n]*\n|(\()|(\))|"((?:[^"\\]|\\["\\])*)"|([^\s()";]+)/gy;
  while (token.lastIndex < text.length) {
    const found = token.exec(text);
    if (found === null) throw new Error('The profile does not parse.');
    const [, open, close, string, symbol] = found;
    if (open !== undefined) stack.push([]);
    if (close !== undefined) {
      const done = stack.pop();
      const outer = stack.at(-1);
      if (done === undefined || outer === undefined) throw new Error('A parenthesis too many.');
      outer.push(done);
    }
    if (string !== undefined) stack.at(-1)?.push(STRING_MARK + string.replaceAll(/\\(.)/g, '$1'));
    if (symbol !== undefined) stack.at(-1)?.push(symbol);
  }
  const [forms = [], ...unclosed] = stack;
  if (unclosed.length > 0 || forms.some((each) => typeof each === 'string')) throw new Error('A list is open.');
  return forms.filter((each) => typeof each !== 'string');
}

function covers(rule: string, operation: string): boolean {
  return rule === 'default' || rule === operation || (rule.endsWith('*') && operation.startsWith(rule.slice(0, -1)));
}

function matches(filter: readonly Form[], path: string, values: ReadonlyMap<string, string>): boolean {
  const [kind, argument] = filter;
  if (kind !== 'subpath' && kind !== 'literal' && kind !== 'path-ancestors') return false;
  const named = evaluate(argument ?? '', values);
  const isBelow = (one: string, other: string) => one.startsWith(other === '/' ? '/' : `${other}/`);
  if (kind === 'literal') return path === named;
  return kind === 'subpath' ? path === named || isBelow(path, named) : isBelow(named, path);
}

function evaluate(form: Form, values: ReadonlyMap<string, string>): string {
  if (typeof form === 'string') return form.slice(STRING_MARK.length);
  const [head, ...rest] = form;
  const parts = rest.map((each) => evaluate(each, values));
  if (head === 'string-append') return parts.join('');
  const value = head === 'param' ? values.get(parts[0] ?? '') : undefined;
  if (value === undefined) throw new Error('A parameter has no value.');
  return value;
}
