import { type JsonValue, MAX_JSON_DEPTH } from './canonical-json.ts';
import {
  type JsonCursor,
  JsonTextError,
  positionOf,
  skipWhiteSpace,
  syntaxError,
  take,
  takeMatch,
} from './json-cursor.ts';
import { PrimitivesError } from './primitives-error.ts';

export interface ParseJsonOptions {
  /** How deep arrays and objects may nest: 128 unless told, at most `MAX_JSON_DEPTH`. */
  readonly maxDepth?: number;
  /** Bytes, or UTF-16 code units of text: 4 MiB unless told. */
  readonly maxLength?: number;
  /**
   * Integers written without fraction or exponent beyond ±(2^53 − 1) are refused, because programs disagree about
   * them. `nearest` reads them as RFC 8785 and `JSON.parse` do: for text that `canonicalJson` wrote.
   */
  readonly largeIntegers?: 'refuse' | 'nearest';
}

interface Parser extends JsonCursor {
  readonly maxDepth: number;
  readonly largeIntegers: 'refuse' | 'nearest';
  depth: number;
}

const DEFAULT_MAX_DEPTH = 128;
const DEFAULT_MAX_LENGTH = 4 * 1024 * 1024;
const NUMBER = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y;
const INTEGER = /^-?[0-9]+$/;
/** Everything but the control characters, the quote and the backslash. */
const PLAIN_CHARACTERS = /[ !#-[\]-\uFFFF]*/y;
const UNICODE_ESCAPE = /u[0-9a-fA-F]{4}/y;
const SHORT_ESCAPES: Readonly<Record<string, string>> = {
  '"': '"',
  '\\': '\\',
  '/': '/',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
};

/**
 * Reads JSON so that no other reader can have understood the same text differently: one value per key, whole
 * characters, numbers that survive. Throws `PrimitivesError`; errors about the text are `JsonTextError`s.
 *
 * Keys such as `__proto__` and `constructor` become plain own properties of ordinary objects.
 */
export function parseJson(input: string | Uint8Array, options: ParseJsonOptions = {}): JsonValue {
  // SECURITY: T-39 — size is checked before anything is copied.
  if (input.length > (options.maxLength ?? DEFAULT_MAX_LENGTH)) {
    throw new PrimitivesError('primitives.json_too_large', 'The JSON text is larger than allowed here.', {
      fix: 'Send less, or send it in parts.',
    });
  }
  const parser: Parser = {
    text: typeof input === 'string' ? input : decodeUtf8(input),
    offset: 0,
    depth: 0,
    maxDepth: Math.min(options.maxDepth ?? DEFAULT_MAX_DEPTH, MAX_JSON_DEPTH),
    largeIntegers: options.largeIntegers ?? 'refuse',
  };
  if (parser.text.startsWith('\uFEFF')) throw syntaxError(parser, 'a value without a byte order mark before it');
  const value = parseValue(parser);
  if (parser.offset < parser.text.length) throw syntaxError(parser, 'the end');
  return value;
}

function decodeUtf8(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch (cause) {
    throw new PrimitivesError('primitives.json_invalid_utf8', 'The JSON text is not valid UTF-8.', {
      fix: 'Send the text encoded as UTF-8.',
      cause,
    });
  }
}

/** One value with the white space around it. */
function parseValue(parser: Parser): JsonValue {
  skipWhiteSpace(parser);
  const value = parseBareValue(parser);
  skipWhiteSpace(parser);
  return value;
}

function parseBareValue(parser: Parser): JsonValue {
  switch (parser.text.charAt(parser.offset)) {
    case '{':
      return nested(parser, parseObject);
    case '[':
      return nested(parser, parseArray);
    case '"':
      return parseString(parser);
    case 't':
      return parseLiteral(parser, 'true', true);
    case 'f':
      return parseLiteral(parser, 'false', false);
    case 'n':
      return parseLiteral(parser, 'null', null);
    default:
      return parseNumber(parser);
  }
}

function nested(parser: Parser, parse: (parser: Parser) => JsonValue): JsonValue {
  // SECURITY: T-39 — a megabyte of `[` must be an error with a code, not the end of the stack.
  if (parser.depth >= parser.maxDepth) {
    const problem = `Arrays and objects are nested deeper than ${parser.maxDepth} levels`;
    const position = positionOf(parser.text, parser.offset);
    throw new JsonTextError('primitives.json_too_deep', problem, position, 'Send a flatter value.');
  }
  parser.depth += 1;
  parser.offset += 1;
  const value = parse(parser);
  parser.depth -= 1;
  return value;
}

function parseObject(parser: Parser): JsonValue {
  const object: Record<string, JsonValue> = {};
  skipWhiteSpace(parser);
  if (take(parser, '}')) return object;
  do {
    skipWhiteSpace(parser);
    const keyOffset = parser.offset;
    const key = parseString(parser);
    // SECURITY: T-57 — after unescaping: another parser takes the first of two spellings, and we decided on the last.
    if (Object.hasOwn(object, key)) throw duplicateKey(parser, keyOffset);
    skipWhiteSpace(parser);
    if (!take(parser, ':')) throw syntaxError(parser, 'a colon');
    setOwn(object, key, parseValue(parser));
  } while (take(parser, ','));
  if (!take(parser, '}')) throw syntaxError(parser, 'a comma or a closing brace');
  return object;
}

function setOwn(object: Record<string, JsonValue>, key: string, value: JsonValue): void {
  // SECURITY: T-39 — assigning to an inherited name runs its setter: `__proto__` would replace the prototype.
  if (key in object) {
    Object.defineProperty(object, key, { value, writable: true, enumerable: true, configurable: true });
  } else {
    object[key] = value;
  }
}

function duplicateKey(parser: Parser, offset: number): JsonTextError {
  const position = positionOf(parser.text, offset);
  const fix = 'Name every key of an object once.';
  return new JsonTextError('primitives.json_duplicate_key', 'An object repeats the key', position, fix);
}

function parseArray(parser: Parser): JsonValue {
  const array: JsonValue[] = [];
  skipWhiteSpace(parser);
  if (take(parser, ']')) return array;
  do array.push(parseValue(parser));
  while (take(parser, ','));
  if (!take(parser, ']')) throw syntaxError(parser, 'a comma or a closing bracket');
  return array;
}

function parseString(parser: Parser): string {
  const start = parser.offset;
  if (!take(parser, '"')) throw syntaxError(parser, 'a string');
  let value = takeMatch(parser, PLAIN_CHARACTERS) ?? '';
  while (!take(parser, '"')) {
    if (!take(parser, '\\')) throw syntaxError(parser, 'a closing quote or an escaped character');
    value += parseEscape(parser) + (takeMatch(parser, PLAIN_CHARACTERS) ?? '');
  }
  // SECURITY: T-57 — half a surrogate pair becomes U+FFFD in other programs, and two keys become one.
  if (value.isWellFormed()) return value;
  throw new JsonTextError(
    'primitives.json_lone_surrogate',
    'A string holds half a surrogate pair',
    positionOf(parser.text, start),
    'Send text made of whole Unicode characters.',
  );
}

function parseEscape(parser: Parser): string {
  const unicode = takeMatch(parser, UNICODE_ESCAPE);
  if (unicode !== undefined) return String.fromCharCode(Number.parseInt(unicode.slice(1), 16));
  const name = parser.text[parser.offset] ?? '';
  const character = Object.hasOwn(SHORT_ESCAPES, name) ? SHORT_ESCAPES[name] : undefined;
  if (character === undefined) throw syntaxError(parser, 'a known escape');
  parser.offset += 1;
  return character;
}

function parseLiteral(parser: Parser, word: string, value: boolean | null): JsonValue {
  if (!take(parser, word)) throw syntaxError(parser, 'a value');
  return value;
}

function parseNumber(parser: Parser): number {
  const start = parser.offset;
  const written = takeMatch(parser, NUMBER);
  if (written === undefined) throw syntaxError(parser, 'a value');
  const value = Number(written);
  if (!Number.isFinite(value)) throw outOfRange(parser, start, 'A number is too large to be held');
  // SECURITY: T-57 — 2^53 + 1 is read as 2^53 by some programs and exactly by others.
  if (parser.largeIntegers === 'refuse' && !Number.isSafeInteger(value) && INTEGER.test(written)) {
    throw outOfRange(parser, start, 'An integer is beyond ±9007199254740991');
  }
  return value;
}

function outOfRange(parser: Parser, offset: number, problem: string): JsonTextError {
  const fix = 'Send numbers that large as text.';
  return new JsonTextError('primitives.json_number_range', problem, positionOf(parser.text, offset), fix);
}
