import { visibleText } from '@palyra/primitives/browser';
import { JournalError } from '../journal-error.ts';
import { ENTRY_KINDS, type EntryData, type EntryKind } from './entry-kinds.ts';

/** As `ENTRY_KINDS` writes a field. */
export type FieldSpec = string | readonly string[];

/** Each type of field as one pattern over its text; counts and integers are numbers. */
const TEXT_FIELDS: Readonly<Record<string, RegExp>> = {
  id: /^[0-7][0-9A-HJKMNP-TV-Z]{25}$/,
  digest: /^[0-9a-f]{64}$/,
  body: /^[0-9a-f]{64}$/,
  snapshot: /^[0-9a-f]{64}$/,
  key: /^[0-9a-f]{64}$/,
  signature: /^[0-9a-f]{128}$/,
  /** What the operator or this program calls something; nothing that could carry a sentence. */
  name: /^[A-Za-z0-9][A-Za-z0-9._:@/+-]{0,127}$/,
  /** As in the first line of a checkpoint: no spaces, no plus, no control characters. */
  origin: /^[A-Za-z0-9][A-Za-z0-9._:/-]{0,127}$/,
};

export const MAX_LIST = 1024;

/**
 * A copy of `data`, absent fields left out, in the order of canonical JSON. Throws `journal.invalid_entry` unless it has
 * exactly the fields of its kind; the message repeats no value.
 */
export function checkEntryData<Kind extends EntryKind>(kind: Kind, data: unknown): EntryData<Kind> {
  const checks = CHECKS[kind];
  if (typeof data !== 'object' || data === null || Array.isArray(data)) throw invalid(kind, 'is not an object');
  for (const name of Object.keys(data)) {
    // SECURITY: T-31 — who, when and where in the log are no fields of any kind: they cannot come with the data.
    if (!checks.names.has(name)) throw invalid(kind, `has no field "${visibleText(name.slice(0, 64))}"`);
  }
  const checked: Record<string, unknown> = {};
  for (const { name, isAllowed } of checks.fields) {
    const given = Object.hasOwn(data, name) ? (data as Record<string, unknown>)[name] : undefined;
    // Holes in a list become visible when it is copied; `every` would pass over them.
    const value: unknown = Array.isArray(given) ? Array.from<unknown>(given) : given;
    if (!isAllowed(value)) throw invalid(kind, `has no valid "${name}"`);
    if (value !== undefined) checked[name] = value;
  }
  return checked as EntryData<Kind>;
}

type IsAllowed = (value: unknown) => boolean;

interface KindChecks {
  readonly names: ReadonlySet<string>;
  /** Sorted by name, as canonical JSON sorts them. */
  readonly fields: readonly { readonly name: string; readonly isAllowed: IsAllowed }[];
}

function checksOf(fields: Readonly<Record<string, FieldSpec>>): KindChecks {
  const names = Object.keys(fields).toSorted();
  return {
    names: new Set(names),
    fields: names.map((name) => ({ name, isAllowed: checkOfField(fields[name] as FieldSpec) })),
  };
}

/** Whether a value may stand in such a field; `undefined`: whether it may be absent. */
export function checkOfField(spec: FieldSpec): IsAllowed {
  if (typeof spec !== 'string') {
    const values: ReadonlySet<unknown> = new Set(spec.filter((value) => value !== ''));
    const isOptional = spec[0] === '';
    return (value) => (value === undefined ? isOptional : values.has(value));
  }
  if (spec.endsWith('?')) {
    const isOfType = checkForType(spec.slice(0, -1));
    return (value) => value === undefined || isOfType(value);
  }
  if (!spec.endsWith('*')) return checkForType(spec);
  const isOfType = checkForType(spec.slice(0, -1));
  return (value) => Array.isArray(value) && value.length <= MAX_LIST && value.every(isOfType);
}

function checkForType(type: string): IsAllowed {
  if (type === 'integer') return isInteger;
  if (type === 'count') return (value) => isInteger(value) && (value as number) >= 0;
  const pattern = TEXT_FIELDS[type];
  return (value) => typeof value === 'string' && pattern?.test(value) === true;
}

function isInteger(value: unknown): boolean {
  return Number.isSafeInteger(value) && !Object.is(value, -0);
}

const CHECKS: Readonly<Record<EntryKind, KindChecks>> = Object.fromEntries(
  Object.entries(ENTRY_KINDS).map(([kind, { fields }]) => [kind, checksOf(fields)]),
) as Record<EntryKind, KindChecks>;

function invalid(kind: EntryKind, what: string): JournalError {
  return new JournalError('journal.invalid_entry', `The data of an entry of kind ${kind} ${what}.`, {
    fix: 'docs/reference/journal.md lists the fields of every kind.',
  });
}

/** The names of the fields of a kind that hold commitments to bodies, or digests of snapshots. */
export function fieldsOfType(kind: EntryKind, type: 'body' | 'snapshot'): readonly string[] {
  return Object.entries(ENTRY_KINDS[kind].fields as Record<string, FieldSpec>)
    .filter(([, spec]) => spec === type || spec === `${type}?`)
    .map(([name]) => name);
}
