import { Secret } from './secret.ts';

/** Ready for `JSON.stringify`: plain, finite, without secrets. */
export type Loggable = null | boolean | number | string | readonly Loggable[] | { readonly [key: string]: Loggable };

/** Bounds of one log line, so that no value an agent chose can flood the log. */
const MAX_DEPTH = 6;
const MAX_ITEMS = 64;
const MAX_VALUES = 1024;
const MAX_TEXT = 8192;

/**
 * A copy of any value that is safe to log. Never throws: secrets become `[secret]`, errors keep name, code, message,
 * stack and cause, and what is too deep, too much, circular or unreadable says so.
 */
export function loggable(value: unknown): Loggable {
  return copy(value, { key: '', open: [], budget: { values: MAX_VALUES } });
}

interface Place {
  readonly key: string;
  /** The objects around this value, to notice cycles and depth. */
  readonly open: readonly object[];
  /** Shared by the whole line: how many more values it may hold. */
  readonly budget: { values: number };
}

// Not a wall, `Secret` is; it catches the header or option that was never wrapped.
const SECRET_NAME =
  /(?:password|passphrase|secret|token|authorization|cookie|api[-_]?key|private[-_]?key|credential)s?$/i;

function copy(value: unknown, place: Place): Loggable {
  place.budget.values -= 1;
  if (value === null || typeof value === 'boolean') return value;
  // SECURITY: T-24 — text under a name that only secrets have is a secret somebody forgot to wrap.
  if (typeof value === 'string') return SECRET_NAME.test(place.key) ? '[redacted]' : shorten(value);
  if (typeof value === 'number') return Number.isFinite(value) ? value : String(value);
  if (typeof value === 'object') return copyObject(value, place);
  if (typeof value === 'bigint' || typeof value === 'symbol') return value.toString();
  return `[${typeof value}]`;
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
  if (Array.isArray(value)) return copyItems(value, inside);
  if (value instanceof Map) return copyEntries(mapEntries(value), inside);
  if (value instanceof Set) return copyItems([...value], inside);
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? 'Invalid Date' : value.toISOString();
  // SECURITY: T-24 — user, password and query of a URL are where credentials travel.
  if (value instanceof URL) return shorten(`${value.protocol}//${value.host}${value.pathname}`);
  if (ArrayBuffer.isView(value) || value instanceof ArrayBuffer) return `[${value.byteLength} bytes]`;
  return copyEntries(Object.entries(value), inside);
}

/** Own properties too: `code`, and whatever a library hung there, a `Secret` perhaps among it. */
function errorEntries(error: Error): [string, unknown][] {
  const told = new Map<string, unknown>([
    ['name', error.name],
    ['message', error.message],
    ...Object.entries(error),
    ['stack', error.stack],
    ['cause', error.cause],
  ]);
  if (error instanceof AggregateError) told.set('errors', error.errors);
  return [...told];
}

/** A key that is no text is shown by its place only: it might be, or hold, a secret. */
function mapEntries(map: ReadonlyMap<unknown, unknown>): [string, unknown][] {
  return Array.from(map, ([key, value], index) => [typeof key === 'string' ? key : `[key ${index}]`, value]);
}

function copyItems(items: readonly unknown[], inside: Place): Loggable {
  const copied = items.slice(0, MAX_ITEMS).map((item) => copy(item, inside));
  if (items.length > MAX_ITEMS) copied.push(`[${items.length - MAX_ITEMS} more]`);
  return copied;
}

function copyEntries(entries: readonly (readonly [string, unknown])[], inside: Place): Loggable {
  const present = entries.filter(([, value]) => value !== undefined);
  const copied: [string, Loggable][] = present
    .slice(0, MAX_ITEMS)
    .map(([key, value]) => [shorten(key), copy(value, { ...inside, key })]);
  if (present.length > MAX_ITEMS) copied.push(['…', `[${present.length - MAX_ITEMS} more]`]);
  // `fromEntries` defines properties, so a key `__proto__` stays a key.
  return Object.fromEntries(copied);
}

function shorten(text: string): string {
  if (text.length <= MAX_TEXT) return text.toWellFormed();
  return `${text.slice(0, MAX_TEXT).toWellFormed()}[${text.length - MAX_TEXT} more]`;
}
