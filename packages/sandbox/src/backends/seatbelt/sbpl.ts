/** A filter of a rule, in Apple's sandbox profile language (a Scheme). */
export type Filter = string & { readonly filter: unique symbol };

/** A path as the profile's text has it: a name that `sandbox-exec -D` gives the value to. */
export interface Parameter {
  readonly name: string;
  readonly value: string;
}

/**
 * Of two rules that match, the later one counts. An empty list of filters makes no rule at all.
 * SECURITY: T-14 — a rule without a filter is one about everything, so an empty list must never be written as one.
 */
export function rule(verdict: 'allow' | 'deny', operations: readonly string[], filters: readonly Filter[]): string {
  if (filters.length === 0) return '';
  return `(${verdict} ${operations.join(' ')}\n${filters.map((each) => `  ${each}`).join('\n')})\n`;
}

/** For what has no filters, or needs none. */
export function everything(verdict: 'allow' | 'deny', operations: readonly string[]): string {
  return `(${verdict} ${operations.join(' ')})\n`;
}

type PathFilter = 'subpath' | 'literal' | 'path-ancestors';

/** Where the path is ours and the same on every machine. */
export function fixed(filter: PathFilter | NameFilter, text: string): Filter {
  return `(${filter} ${quote(text)})` as Filter;
}

type NameFilter =
  | 'global-name'
  | 'global-name-prefix'
  | 'xpc-service-name-prefix'
  | 'sysctl-name'
  | 'sysctl-name-prefix'
  | 'ipc-posix-name-prefix';

/**
 * Where the path is somebody else's.
 * SECURITY: T-14 — the profile is a program, and a path never becomes part of its text: whatever it is called, it is the
 * value of one parameter.
 */
export function given(filter: PathFilter, { name }: Parameter, below = ''): Filter {
  const path = below === '' ? `(param ${quote(name)})` : `(string-append (param ${quote(name)}) ${quote(below)})`;
  return `(${filter} ${path})` as Filter;
}

export function written(text: string): Filter {
  return text as Filter;
}

function quote(text: string): string {
  return `"${text.replaceAll(/["\\]/g, '\\$&')}"`;
}
