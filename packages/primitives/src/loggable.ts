import { isSecretName, redactUrls } from './redact-text.ts';
import { Secret } from './secret.ts';

/** Ready for `JSON.stringify`: plain, finite, without secrets. */
export type Loggable = null | boolean | number | string | readonly Loggable[] | { readonly [key: string]: Loggable };

/** Bounds of one log line, so that no value an agent chose can flood the log. */
const MAX_DEPTH = 6;
const MAX_ITEMS = 64;
const MAX_VALUES = 1024;
const MAX_TEXT = 8192;
const MAX_TEXT_IN_ALL = 65_536;
const MAX_INTEGER_BITS = 256;

/**
 * A copy of any value that is safe to log. Never throws: secrets become `[secret]`, errors keep name, code, message,
 * stack and cause, and what is too deep, too much, circular or unreadable says so. Of a value's own methods none is
 * called: they could give back anything, or never end.
 */
export function loggable(value: unknown): Loggable {
  return copy(value, { isSecret: false, open: [], budget: { values: MAX_VALUES, text: MAX_TEXT_IN_ALL } });
}

/** One text as it may be logged. */
export function loggableText(text: string): string {
  return shorten(text, { values: 1, text: MAX_TEXT });
}

/** Shared by the whole value: how much more it may hold. */
interface Budget {
  values: number;
  text: number;
}

interface Place {
  /** Below a name that only secrets have. */
  readonly isSecret: boolean;
  /** The objects around this value, to notice cycles and depth. */
  readonly open: readonly object[];
  readonly budget: Budget;
}

function copy(value: unknown, place: Place): Loggable {
  place.budget.values -= 1;
  if (value === null || typeof value === 'boolean') return value;
  if (typeof value === 'number') return Number.isFinite(value) ? value : String(value);
  if (typeof value === 'object') return copyObject(value, place);
  if (typeof value === 'string' || typeof value === 'symbol') return copyText(value.toString(), place);
  // Writing a number of any length takes more than linear time.
  if (typeof value === 'bigint') return BigInt.asIntN(MAX_INTEGER_BITS, value) === value ? `${value}` : '[long bigint]';
  return `[${typeof value}]`;
}

/** SECURITY: T-24 — text under a name that only secrets have is a secret somebody forgot to wrap, however deep it lies. */
function copyText(text: string, { isSecret, budget }: Place): string {
  return isSecret ? '[redacted]' : shorten(text, budget);
}

function copyObject(value: object, place: Place): Loggable {
  if (place.open.includes(value)) return '[circular]';
  if (place.open.length >= MAX_DEPTH) return '[too deep]';
  if (place.budget.values < 0) return '[too much]';
  try {
    return copyContents(value, { ...place, open: [...place.open, value] });
  } catch {
    // A getter or a proxy threw: the line matters more than the value.
    return '[unreadable]';
  }
}

function copyContents(value: object, inside: Place): Loggable {
  // SECURITY: T-24 — a second wall behind the secret's private field, and the line says that a secret was here.
  if (value instanceof Secret) return '[secret]';
  if (value instanceof Error) return copyEntries(errorEntries(value), inside);
  if (Array.isArray(value)) return copyItems(listItems(value), inside);
  if (value instanceof Map) return copyEntries(mapEntries(value), inside);
  if (value instanceof Set) return copyItems(setItems(value), inside);
  if (value instanceof Date) return dateText(Date.prototype.getTime.call(value));
  // SECURITY: T-24 — user, password and query of a URL are where credentials travel.
  if (value instanceof URL) return copyText(`${value.protocol}//${value.host}${value.pathname}`, inside);
  if (ArrayBuffer.isView(value) || value instanceof ArrayBuffer) return copyText(`[${value.byteLength} bytes]`, inside);
  return copyEntries(ownEntries(value), inside);
}

/** As many items as are logged, and how many there are. */
interface Excerpt<Item> {
  readonly first: readonly Item[];
  readonly total: number;
}

type Entry = readonly [string, unknown];

/** Own properties too: `code`, and whatever a library hung there, a `Secret` perhaps among it. */
function errorEntries(error: Error): Excerpt<Entry> {
  const own = ownEntries(error);
  const told = new Map<string, unknown>([
    ['name', error.name],
    ['message', error.message],
    ...own.first,
    ['stack', error.stack],
    ['cause', error.cause],
  ]);
  if (error instanceof AggregateError) told.set('errors', error.errors);
  return { first: [...told], total: told.size + own.total - own.first.length };
}

function listItems(list: readonly unknown[]): Excerpt<unknown> {
  const total = list.length;
  return { first: Array.from({ length: Math.min(total, MAX_ITEMS) }, (_, index) => list[index]), total };
}

function setItems(set: ReadonlySet<unknown>): Excerpt<unknown> {
  return {
    first: firstOf(Set.prototype.values.call(set)),
    total: Reflect.get(Set.prototype, 'size', set),
  };
}

/** A key that is no text is shown by its place only: it might be, or hold, a secret. */
function mapEntries(map: ReadonlyMap<unknown, unknown>): Excerpt<Entry> {
  const first: readonly (readonly [unknown, unknown])[] = firstOf(Map.prototype.entries.call(map));
  return {
    first: first.map(([key, value], index) => [typeof key === 'string' ? key : `[key ${index}]`, value]),
    total: Reflect.get(Map.prototype, 'size', map),
  };
}

function firstOf<Item>(items: Iterable<Item>): readonly Item[] {
  const first: Item[] = [];
  for (const item of items) {
    if (first.length === MAX_ITEMS) break;
    first.push(item);
  }
  return first;
}

function dateText(time: number): string {
  return Number.isNaN(time) ? 'Invalid Date' : new Date(time).toISOString();
}

function ownEntries(value: object): Excerpt<Entry> {
  const keys = Object.keys(value);
  return { first: keys.slice(0, MAX_ITEMS).map((key) => [key, Reflect.get(value, key)]), total: keys.length };
}

function copyItems({ first, total }: Excerpt<unknown>, inside: Place): Loggable {
  const copied = first.map((item) => copy(item, inside));
  if (total > first.length) copied.push(`[${total - first.length} more]`);
  return copied;
}

function copyEntries({ first, total }: Excerpt<Entry>, inside: Place): Loggable {
  const copied: [string, Loggable][] = first
    .filter(([, value]) => value !== undefined)
    .map(([key, value]) => [
      shorten(key, inside.budget),
      copy(value, { ...inside, isSecret: inside.isSecret || isSecretName(key) }),
    ]);
  if (total > first.length) copied.push(['…', `[${total - first.length} more]`]);
  // `fromEntries` defines properties, so a key `__proto__` stays a key.
  return Object.fromEntries(copied);
}

function shorten(text: string, budget: Budget): string {
  const limit = Math.max(0, Math.min(MAX_TEXT, budget.text));
  // What follows the cut is looked at as well: the at sign that ends a password may stand there.
  const redacted = redactUrls(text.slice(0, limit + MAX_TEXT));
  const shown = redacted.slice(0, limit).toWellFormed();
  budget.text -= shown.length;
  const rest = redacted.length - shown.length + Math.max(0, text.length - limit - MAX_TEXT);
  return rest > 0 ? `${shown}[${rest} more]` : shown;
}
