import { PrimitivesError } from './primitives-error.ts';
import { visibleText } from './visible-text.ts';

/** What JSON can say, and nothing that it would drop or bend. */
export type JsonValue = null | boolean | number | string | readonly JsonValue[] | JsonObject;

export interface JsonObject {
  readonly [key: string]: JsonValue;
}

/** No JSON value in Palyra is nested deeper, whatever a caller allows; the limit also keeps the stack safe. */
export const MAX_JSON_DEPTH = 1024;

/**
 * The one spelling of a JSON value by RFC 8785: no white space, keys in UTF-16 order, numbers as ECMAScript writes
 * them. Throws `PrimitivesError` (`not_json`, `json_lone_surrogate`, `json_number_range`, `json_too_deep`) with the
 * path of the value that cannot be written; it never calls `toJSON` or a getter, and reads each property once.
 *
 * Integers of 2^53 and above are written in full up to 10^21, as the RFC demands, and `parseJson` refuses such
 * integers by default; read canonical text that may hold them with `largeIntegers: 'nearest'`.
 */
export function canonicalJson(value: JsonValue): string {
  return write(value, { path: [], open: new Set() });
}

const encoder = new TextEncoder();

/** The canonical spelling as UTF-8: the bytes to hash or sign. Throws as `canonicalJson` does. */
export function canonicalJsonBytes(value: JsonValue): Uint8Array<ArrayBuffer> {
  return encoder.encode(canonicalJson(value));
}

interface Place {
  /** Keys and indexes that lead to the value being written. */
  readonly path: (string | number)[];
  /** The containers being written, to notice a cycle. */
  readonly open: Set<object>;
}

function write(value: unknown, place: Place): string {
  if (value === null || typeof value === 'boolean') return String(value);
  if (typeof value === 'string') return writeString(value, place);
  if (typeof value === 'number') return writeNumber(value, place);
  if (typeof value === 'object') return writeContainer(value, place);
  throw notJson(`is of type ${typeof value}`, place);
}

/** Nearly all texts and all keys, and far quicker to see than to write: ASCII without controls, quotes and backslashes. */
const NEEDS_NO_ESCAPE = /^[\x20\x21\x23-\x5b\x5d-\x7e]*$/;

/** ECMAScript's own escapes are exactly those of RFC 8785, section 3.2.2.2. */
function writeString(text: string, place: Place): string {
  if (NEEDS_NO_ESCAPE.test(text)) return `"${text}"`;
  if (text.isWellFormed()) return JSON.stringify(text);
  throw new PrimitivesError('primitives.json_lone_surrogate', `The text at ${at(place)} holds half a surrogate pair.`, {
    fix: 'Give text made of whole Unicode characters.',
  });
}

function writeNumber(value: number, place: Place): string {
  if (Number.isFinite(value)) return String(value === 0 ? 0 : value);
  throw new PrimitivesError('primitives.json_number_range', `The number at ${at(place)} is not finite.`, {
    fix: 'Give a finite number, or text.',
  });
}

function writeContainer(value: object, place: Place): string {
  if (place.open.has(value)) throw notJson('contains itself', place);
  if (place.open.size >= MAX_JSON_DEPTH) {
    throw new PrimitivesError('primitives.json_too_deep', `The value is nested deeper than ${MAX_JSON_DEPTH} levels.`, {
      fix: 'Give a flatter value.',
    });
  }
  place.open.add(value);
  const text = Array.isArray(value) ? writeArray(value, place) : writeObject(value, place);
  place.open.delete(value);
  return text;
}

function writeArray(array: readonly unknown[], place: Place): string {
  // More own keys than elements and `length` means properties that JSON would drop, fewer means holes.
  const isPlain =
    Object.getPrototypeOf(array) === Array.prototype &&
    Object.getOwnPropertyNames(array).length === array.length + 1 &&
    Object.getOwnPropertySymbols(array).length === 0;
  if (!isPlain) throw notJson('is not a plain array without holes', place);
  const items: string[] = [];
  for (let index = 0; index < array.length; index += 1) items.push(writeProperty(array, index, place));
  return `[${items.join(',')}]`;
}

function writeObject(object: object, place: Place): string {
  const prototype: unknown = Object.getPrototypeOf(object);
  // SECURITY: T-24 — instances have no one spelling, and a `Secret` must never reach a journal or a digest.
  if (prototype !== Object.prototype && prototype !== null) throw notJson('is not a plain object', place);
  let members = '';
  for (const key of sortedKeys(object, place)) {
    members += `${members === '' ? '' : ','}${writeName(key, place)}${writeProperty(object, key, place)}`;
  }
  return `{${members}}`;
}

/** The same few names are written all the time. */
const names = new Map<string, string>();
const MOST_NAMES = 1024;
const LONGEST_NAME = 64;

function writeName(key: string, place: Place): string {
  const known = names.get(key);
  if (known !== undefined) return known;
  const name = `${writeString(key, place)}:`;
  if (names.size < MOST_NAMES && key.length <= LONGEST_NAME) names.set(key, name);
  return name;
}

function writeProperty(owner: object, key: string | number, place: Place): string {
  place.path.push(key);
  const property = Object.getOwnPropertyDescriptor(owner, key);
  // SECURITY: T-03 — a getter could give the approver one value and the program that runs another.
  if (property === undefined || !('value' in property) || !property.enumerable) {
    throw notJson('is not a plain property', place);
  }
  const text = write(property.value, place);
  place.path.pop();
  return text;
}

/** In the order of UTF-16 code units, which is that of RFC 8785. */
function sortedKeys(object: object, place: Place): readonly string[] {
  // Asked one by one, the engine has both at hand; `Reflect.ownKeys` takes ten times as long.
  if (Object.getOwnPropertySymbols(object).length > 0) throw notJson('has a symbol as a key', place);
  const keys = Object.getOwnPropertyNames(object);
  return keys.length <= FEW_KEYS ? insertionSorted(keys) : keys.toSorted();
}

/** Up to here the simplest way takes a third of the time of `toSorted`, which first makes texts of all of them. */
const FEW_KEYS = 32;

function insertionSorted(keys: string[]): readonly string[] {
  for (let from = 1; from < keys.length; from += 1) {
    const key = keys[from] as string;
    let to = from;
    for (; to > 0 && (keys[to - 1] as string) > key; to -= 1) keys[to] = keys[to - 1] as string;
    keys[to] = key;
  }
  return keys;
}

function notJson(reason: string, place: Place): PrimitivesError {
  return new PrimitivesError('primitives.not_json', `The value at ${at(place)} ${reason}.`, {
    fix: 'Give only null, booleans, finite numbers, text, and plain arrays and objects of these.',
  });
}

/** The path to the value, short enough for a message. The value itself is never quoted: it may be confidential. */
function at(place: Place): string {
  if (place.path.length === 0) return 'the top';
  return `/${visibleText(place.path.join('/'), { maxCharacters: 120 })}`;
}
