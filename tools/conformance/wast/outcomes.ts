import type { Pattern, WastValue } from './values.ts';

/** What came of a call or of making an instance. */
export type Outcome =
  | { readonly kind: 'returned'; readonly values: readonly WastValue[] }
  | { readonly kind: 'trapped'; readonly message: string }
  | { readonly kind: 'exhausted' | 'thrown' | 'unlinkable' | 'uncallable' };

/** What a script says of it; nothing where it says nothing, or what only V8 could compare. */
export interface Expectation {
  readonly patterns: readonly (Pattern | undefined)[] | undefined;
  readonly expected: Outcome['kind'] | undefined;
}

export function isAsExpected(outcome: Outcome, { expected, patterns }: Expectation): boolean {
  // JavaScript cannot hold the value, so there is nothing to compare.
  if (expected === undefined || outcome.kind === 'uncallable') return true;
  // Segments that do not fit were once a fault of linking.
  if (outcome.kind !== expected) return expected === 'unlinkable' && outcome.kind === 'trapped';
  if (outcome.kind !== 'returned' || patterns === undefined) return true;
  const { values } = outcome;
  return patterns.length === values.length && values.every((value, index) => patterns[index]?.(value) ?? true);
}

/** The outcome in words; two outcomes are the same when their words are. */
export function told(outcome: Outcome): string {
  switch (outcome.kind) {
    case 'returned':
      return `returned ${outcome.values.map(toldValue).join(' ')}`;
    case 'trapped':
      return `trapped (${outcome.message})`;
    case 'exhausted':
    case 'thrown':
    case 'unlinkable':
    case 'uncallable':
      return outcome.kind;
  }
}

function toldValue(value: WastValue): string {
  if (value.kind === 'bits') return `${value.type}:${value.bits.toString(16)}`;
  const { value: reference } = value;
  if (typeof reference === 'function') return `function ${reference.name}`;
  return typeof reference === 'object' && reference !== null ? JSON.stringify(reference) : String(reference);
}
