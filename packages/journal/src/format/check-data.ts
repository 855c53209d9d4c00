import { visibleText } from '@palyra/primitives/browser';
import { JournalError } from '../journal-error.ts';
import { ENTRY_KINDS, type EntryData, type EntryKind } from './entry-kinds.ts';

type FieldSpec = string | readonly string[];

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

const MAX_LIST = 256;

/**
 * A copy of `data`, absent fields left out. Throws `journal.invalid_entry` unless it has exactly the fields of its kind;
 * the message repeats no value.
 */
export function checkEntryData<Kind extends EntryKind>(kind: Kind, data: unknown): EntryData<Kind> {
  const { fields } = ENTRY_KINDS[kind];
  if (typeof data !== 'object' || data === null || Array.isArray(data)) throw invalid(kind, 'is not an object');
  for (const name of Object.keys(data)) {
    // SECURITY: T-31 — who, when and where in the log are no fields of any kind: they cannot come with the data.
    if (!Object.hasOwn(fields, name)) throw invalid(kind, `has no field "${visibleText(name.slice(0, 64))}"`);
  }
  const checked: Record<string, unknown> = {};
  for (const [name, spec] of Object.entries(fields) as [string, FieldSpec][]) {
    const given = Object.hasOwn(data, name) ? (data as Record<string, unknown>)[name] : undefined;
    // Holes in a list become visible when it is copied; `every` would pass over them.
    const value: unknown = Array.isArray(given) ? Array.from<unknown>(given) : given;
    if (!isAllowed(spec, value)) throw invalid(kind, `has no valid "${name}"`);
    if (value !== undefined) checked[name] = value;
  }
  return checked as EntryData<Kind>;
}

function isAllowed(spec: FieldSpec, value: unknown): boolean {
  if (typeof spec !== 'string') {
    if (value === undefined) return spec[0] === '';
    return typeof value === 'string' && value !== '' && spec.includes(value);
  }
  if (spec.endsWith('?')) return value === undefined || isOfType(spec.slice(0, -1), value);
  if (spec.endsWith('*')) return isListOf(spec.slice(0, -1), value);
  return isOfType(spec, value);
}

function isListOf(type: string, value: unknown): boolean {
  return Array.isArray(value) && value.length <= MAX_LIST && value.every((item) => isOfType(type, item));
}

function isOfType(type: string, value: unknown): boolean {
  if (type === 'count') return isOfType('integer', value) && (value as number) >= 0;
  if (type === 'integer') return Number.isSafeInteger(value) && !Object.is(value, -0);
  return typeof value === 'string' && TEXT_FIELDS[type]?.test(value) === true;
}

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
