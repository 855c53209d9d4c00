import { checkOfField, type FieldSpec, MAX_LIST } from './check-data.ts';
import { ENTRY_KINDS, type EntryData, type EntryKind } from './entry-kinds.ts';

/**
 * The data of an entry in a text that is its canonical spelling. Undefined: it is none of this kind, or nobody can say so
 * this way; whoever reads it in full says why. One pass, and no JSON: a verifier reads millions of them, and a field is
 * always found where the one before it ends.
 */
export function readSpelled<Kind extends EntryKind>(kind: Kind, text: string): EntryData<Kind> | undefined {
  if (text.length > LONG) return undefined;
  const data: Record<string, unknown> = {};
  let at = 0;
  for (const { name, first, next, isOptional, read } of FIELDS[kind]) {
    const key = at === 0 ? first : next;
    if (!text.startsWith(key, at)) {
      if (isOptional) continue;
      return undefined;
    }
    at = read(text, at + key.length);
    if (at === NOWHERE) return undefined;
    data[name] = value;
  }
  const isWhole = at > 0 && at === text.length - 1 && text.charCodeAt(at) === CLOSING_BRACE;
  return isWhole ? (data as EntryData<Kind>) : undefined;
}

/**
 * SECURITY: T-31 — what is cut out of a text keeps all of it in memory, and a verifier remembers ids of many thousand open
 * calls. Longer ones are parsed, which copies; those that this program writes are shorter but for long lists of policies.
 */
export const LONG = 4096;

/** Leaves what stands there in `value`, and returns where it ends, or `NOWHERE`. */
type Read = (text: string, at: number) => number;

const NOWHERE = -1;
const QUOTE = 0x22;
const COMMA = 0x2c;
const OPENING_BRACKET = 0x5b;
const CLOSING_BRACKET = 0x5d;
const CLOSING_BRACE = 0x7d;

/** Of the field that was read last; returning it together with its end would make an object for every field. */
let value: unknown;

interface Field {
  readonly name: string;
  /** Its key as it is spelled behind the brace, and behind another field. */
  readonly first: string;
  readonly next: string;
  readonly isOptional: boolean;
  readonly read: Read;
}

function fieldOf(name: string, spec: FieldSpec): Field {
  const key = `"${name}":`;
  return {
    name,
    first: `{${key}`,
    next: `,${key}`,
    isOptional: checkOfField(spec)(undefined),
    read: readValue(spec),
  };
}

function readValue(spec: FieldSpec): Read {
  if (typeof spec === 'string' && spec.endsWith('*')) return sameAgain(readList(readOne(spec.slice(0, -1))));
  return isNumber(spec) ? readOne(spec) : sameAgain(readOne(spec));
}

function readOne(spec: FieldSpec): Read {
  return isNumber(spec) ? readNumber(checkOfField(spec)) : readText(checkOfField(spec));
}

function isNumber(spec: FieldSpec): boolean {
  return typeof spec === 'string' && /^(?:count|integer)\b/.test(spec);
}

/**
 * Entries that follow each other are mostly of one run, one principal and one policy, so that their fields say the same.
 * Not for numbers, which do not say where they end: 12 begins as 123 does.
 */
function sameAgain(read: Read): Read {
  let spelled: string | undefined;
  let same: unknown;
  return (text, at) => {
    if (spelled !== undefined && text.startsWith(spelled, at)) {
      value = same;
      return at + spelled.length;
    }
    const end = read(text, at);
    if (end === NOWHERE) return NOWHERE;
    spelled = text.slice(at, end);
    same = value;
    return end;
  };
}

/** SECURITY: T-31 — no text that a field may hold has a character that JSON spells otherwise, so an escape is refused. */
function readText(isAllowed: (value: unknown) => boolean): Read {
  return (text, at) => {
    if (text.charCodeAt(at) !== QUOTE) return NOWHERE;
    const end = text.indexOf('"', at + 1);
    value = text.slice(at + 1, end);
    return end > at && isAllowed(value) ? end + 1 : NOWHERE;
  };
}

function readNumber(isAllowed: (value: unknown) => boolean): Read {
  return (text, at) => {
    let end = at;
    for (let code = text.charCodeAt(end); isOfNumber(code); code = text.charCodeAt(end)) end += 1;
    const spelled = text.slice(at, end);
    value = Number(spelled);
    // An integer has one spelling that ECMAScript writes.
    return String(value) === spelled && isAllowed(value) ? end : NOWHERE;
  };
}

/** A digit or a minus. */
function isOfNumber(code: number): boolean {
  return (code >= 0x30 && code <= 0x39) || code === 0x2d;
}

function readList(readItem: Read): Read {
  return (text, start) => {
    if (text.charCodeAt(start) !== OPENING_BRACKET) return NOWHERE;
    const items: unknown[] = [];
    let at = start + 1;
    while (text.charCodeAt(at) !== CLOSING_BRACKET) {
      if (items.length > 0) {
        if (text.charCodeAt(at) !== COMMA) return NOWHERE;
        at += 1;
      }
      at = readItem(text, at);
      if (at === NOWHERE) return NOWHERE;
      items.push(value);
    }
    // The next entries have the same one.
    value = Object.freeze(items);
    return items.length <= MAX_LIST ? at + 1 : NOWHERE;
  };
}

/** Sorted by name, as canonical JSON sorts them. */
const FIELDS: Readonly<Record<EntryKind, readonly Field[]>> = Object.fromEntries(
  Object.entries(ENTRY_KINDS).map(([kind, { fields }]) => [
    kind,
    Object.entries(fields as Readonly<Record<string, FieldSpec>>)
      .toSorted(([one], [other]) => (one < other ? -1 : 1))
      .map(([name, spec]) => fieldOf(name, spec)),
  ]),
) as unknown as Record<EntryKind, readonly Field[]>;
