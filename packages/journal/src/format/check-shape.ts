import { visibleText } from '@palyra/primitives/browser';
import type { JournalError } from '../journal-error.ts';
import { type Spell, spellFields, spellItems, spellPrimitive, spellRecord, spellWith } from './spell-shape.ts';

/** Where a value is not what it should be, and why; filled in by the check that says no. */
export interface Fault {
  readonly path: (string | number)[];
  reason: string;
}

/** One rule about values of any origin. A check of an object is a table of such rules (`object`). */
export interface Check<Type> {
  (value: unknown, fault: Fault): value is Type;
  /** Looks and writes in one go, where the rule knows how; else `canonicalJson` writes it. */
  readonly spell?: Spell;
}

export interface Optional<Type> {
  readonly optional: Check<Type>;
}

/** A rule for every field of the type, so that neither can change without the other. */
export type Fields<Type> = {
  readonly [Name in keyof Type]-?: Pick<Type, Name> extends Required<Pick<Type, Name>>
    ? Check<Type[Name]>
    : Optional<NonNullable<Type[Name]>>;
};

/** Returns the value as what it was found to be, or throws what `invalid` makes of the first fault. No value is quoted. */
export function checkShape<Type>(
  value: unknown,
  check: Check<Type>,
  invalid: (sentence: string) => JournalError,
): Type {
  const fault: Fault = { path: [], reason: '' };
  if (check(value, fault)) return value;
  const place =
    fault.path.length === 0 ? 'The whole' : `"${visibleText(fault.path.join('/'), { maxCharacters: 120 })}"`;
  throw invalid(`${place} ${fault.reason}.`);
}

const MAX_TEXT = 4096;
const MAX_LIST = 1024;

export function object<Type extends object>(fields: Fields<Type>): Check<Type> {
  const rules = Object.entries(fields) as [string, Check<unknown> | Optional<unknown>][];
  const check = (value: unknown, fault: Fault): value is Type => {
    if (!isObject(value)) return refuse(fault, 'is not an object');
    const unknown = Object.keys(value).find((field) => !Object.hasOwn(fields, field));
    if (unknown !== undefined) return refuseAt(fault, unknown, 'is unknown');
    return rules.every(([field, needed]) => {
      if (!Object.hasOwn(value, field)) return typeof needed !== 'function' || refuseAt(fault, field, 'is missing');
      return holdsAt(fault, field, typeof needed === 'function' ? needed : needed.optional, value[field]);
    });
  };
  const spelled = rules.map(([field, needed]) => ({
    field,
    isOptional: typeof needed !== 'function',
    spell: spellWith(typeof needed === 'function' ? needed : needed.optional),
  }));
  return Object.assign(check, { spell: spellFields(spelled) });
}

export function optional<Type>(check: Check<Type>): Optional<Type> {
  return { optional: check };
}

/** A list of values that obey one rule. */
export function list<Type>(check: Check<Type>): Check<readonly Type[]> {
  const checkAll = (value: unknown, fault: Fault): value is readonly Type[] => {
    if (!Array.isArray(value)) return refuse(fault, 'is not a list');
    if (value.length > MAX_LIST) return refuse(fault, `has more than ${MAX_LIST} items`);
    return value.every((item, index) => holdsAt(fault, index, check, item));
  };
  return Object.assign(checkAll, { spell: spellItems(spellWith(check), MAX_LIST) });
}

const FACT_NAME = /^[a-z][a-z0-9_]{0,63}$/;

/** An object whose names are not known beforehand. */
export function record<Type>(check: Check<Type>): Check<Readonly<Record<string, Type>>> {
  const checkAll = (value: unknown, fault: Fault): value is Readonly<Record<string, Type>> => {
    if (!isObject(value)) return refuse(fault, 'is not an object');
    const fields = Object.keys(value);
    if (fields.length > MAX_LIST) return refuse(fault, `has more than ${MAX_LIST} fields`);
    return fields.every((field) => {
      if (!FACT_NAME.test(field)) return refuseAt(fault, field, 'is not a name of lower-case letters and digits');
      return holdsAt(fault, field, check, value[field]);
    });
  };
  return Object.assign(checkAll, { spell: spellRecord(FACT_NAME, spellWith(check), MAX_LIST) });
}

export function choice<const Word extends string>(...words: readonly Word[]): Check<Word> {
  return rule(`is not one of: ${words.join(', ')}`, (value): value is Word => words.some((word) => word === value));
}

export function matching(pattern: RegExp, what: string): Check<string> {
  return rule(`is not ${what}`, (value): value is string => typeof value === 'string' && pattern.test(value));
}

/** A rule of its own, with the words to say when it is broken. */
export function rule<Type>(reason: string, holds: (value: unknown) => value is Type): Check<Type> {
  const check = (value: unknown, fault: Fault): value is Type => holds(value) || refuse(fault, reason);
  return Object.assign(check, { spell: (value: unknown) => (holds(value) ? spellPrimitive(value) : undefined) });
}

export const id: Check<string> = matching(/^[0-7][0-9A-HJKMNP-TV-Z]{25}$/, 'an id');
export const digest: Check<string> = matching(/^[0-9a-f]{64}$/, 'a SHA-256 digest in lower-case hexadecimal');
/** As names are written in entries. */
export const name: Check<string> = matching(/^[A-Za-z0-9][A-Za-z0-9._:@/+-]{0,127}$/, 'a name');
export const origin: Check<string> = matching(/^[A-Za-z0-9][A-Za-z0-9._:/-]{0,127}$/, 'the origin of a log');

/** Any words: what a tool or its peer chose, never to be shown but through `visibleText`. */
export const text: Check<string> = textUpTo(MAX_TEXT);

export function textUpTo(most: number): Check<string> {
  return rule(
    `is not a text of 1 to ${most} characters`,
    (value): value is string =>
      typeof value === 'string' && value.length >= 1 && value.length <= most && value.isWellFormed(),
  );
}

export const count: Check<number> = rule('is not a count', (value): value is number => isWhole(value) && value >= 0);

export const integer: Check<number> = rule('is not a whole number', isWhole);

export const boolean: Check<boolean> = rule(
  'is neither true nor false',
  (value): value is boolean => typeof value === 'boolean',
);

function isWhole(value: unknown): value is number {
  return Number.isSafeInteger(value) && !Object.is(value, -0);
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function holdsAt(fault: Fault, step: string | number, check: Check<unknown>, value: unknown): boolean {
  fault.path.push(step);
  if (!check(value, fault)) return false;
  fault.path.pop();
  return true;
}

function refuseAt(fault: Fault, step: string, reason: string): false {
  fault.path.push(step);
  return refuse(fault, reason);
}

function refuse(fault: Fault, reason: string): false {
  fault.reason = reason;
  return false;
}
