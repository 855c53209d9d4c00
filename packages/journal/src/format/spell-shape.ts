import { canonicalJson, type JsonValue } from '@palyra/primitives/browser';
import type { Check } from './check-shape.ts';

/**
 * The canonical JSON of a value that obeys a rule, found in one go: each property is looked at once, and what was looked at
 * is what is written. Undefined, or a throw, for everything else: then `canonicalJson` and the rule itself say what is wrong.
 */
export type Spell = (value: unknown) => string | undefined;

/** How a rule writes what obeys it. */
export function spellWith<Type>(check: Check<Type>): Spell {
  const { spell } = check;
  if (spell !== undefined) return spell;
  return (value) => {
    // Written first: that refuses everything that could be something else when it is looked at again.
    const text = canonicalJson(value as JsonValue);
    return check(value, { path: [], reason: '' }) ? text : undefined;
  };
}

/** What the two ways of writing must agree on is not written here at all: text that has no one spelling, and −0. */
export function spellPrimitive(value: unknown): string | undefined {
  if (typeof value === 'string') return value.isWellFormed() ? JSON.stringify(value) : undefined;
  if (typeof value === 'boolean') return String(value);
  return typeof value === 'number' && Number.isFinite(value) && !Object.is(value, -0) ? String(value) : undefined;
}

export interface SpelledField {
  readonly field: string;
  readonly isOptional: boolean;
  readonly spell: Spell;
}

/** An object with these fields and no others. They are put in order once, not for every value. */
export function spellFields(fields: readonly SpelledField[]): Spell {
  const inOrder = fields
    .map((each) => ({ ...each, name: `${JSON.stringify(each.field)}:` }))
    .toSorted((one, other) => (one.field < other.field ? -1 : 1));
  return (value) => {
    if (!isPlainObject(value)) return undefined;
    let text = '';
    let found = 0;
    for (const { field, name, isOptional, spell } of inOrder) {
      const property = Object.getOwnPropertyDescriptor(value, field);
      if (property === undefined && isOptional) continue;
      const written = isPlainProperty(property) ? spell(property.value) : undefined;
      if (written === undefined) return undefined;
      text += found === 0 ? name + written : `,${name}${written}`;
      found += 1;
    }
    return found === Object.getOwnPropertyNames(value).length ? `{${text}}` : undefined;
  };
}

/** An object whose names are not known beforehand. */
export function spellRecord(allowed: RegExp, spell: Spell, most: number): Spell {
  return (value) => {
    if (!isPlainObject(value)) return undefined;
    const names = Object.getOwnPropertyNames(value).toSorted();
    if (names.length > most) return undefined;
    let text = '';
    for (const name of names) {
      const property = Object.getOwnPropertyDescriptor(value, name);
      const written = allowed.test(name) && isPlainProperty(property) ? spell(property.value) : undefined;
      if (written === undefined) return undefined;
      text += `${text === '' ? '' : ','}${JSON.stringify(name)}:${written}`;
    }
    return `{${text}}`;
  };
}

export function spellItems(spell: Spell, most: number): Spell {
  return (value) => {
    if (!isPlainArray(value) || value.length > most) return undefined;
    let text = '';
    for (let at = 0; at < value.length; at += 1) {
      const property = Object.getOwnPropertyDescriptor(value, at);
      const written = isPlainProperty(property) ? spell(property.value) : undefined;
      if (written === undefined) return undefined;
      text += at === 0 ? written : `,${written}`;
    }
    return `[${text}]`;
  };
}

function isPlainObject(value: unknown): value is object {
  if (typeof value !== 'object' || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  // SECURITY: T-24 — instances have no one spelling, and a `Secret` must never reach a journal or a digest.
  if (prototype !== Object.prototype && prototype !== null) return false;
  return Object.getOwnPropertySymbols(value).length === 0;
}

function isPlainArray(value: unknown): value is readonly unknown[] {
  return (
    Array.isArray(value) &&
    Object.getPrototypeOf(value) === Array.prototype &&
    Object.getOwnPropertyNames(value).length === value.length + 1 &&
    Object.getOwnPropertySymbols(value).length === 0
  );
}

/** SECURITY: T-03 — a getter could give one value to whoever looks and another to whoever writes. */
function isPlainProperty(
  property: PropertyDescriptor | undefined,
): property is PropertyDescriptor & { readonly value: unknown } {
  return property !== undefined && 'value' in property && property.enumerable === true;
}
