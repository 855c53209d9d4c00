import { type DescField, type DescMessage, type Message, ScalarType } from '@bufbuild/protobuf';
import { reflect } from '@bufbuild/protobuf/reflect';
import { type JsonValue, PrimitivesError, parseJson } from '@palyra/primitives';
import { DaemonError } from '../daemon-error.ts';

/** Enough for every input a tool takes; what is nested deeper was made to be deep. */
const MOST_NESTED = 64;
const LONGEST_TEXT = 64 * 1024;
const MOST_ENTRIES = 10_000;
/** As policies compare them; ends of ids included. */
const ID = /^[A-Za-z0-9][A-Za-z0-9._:@/-]{0,199}$/;
/** Names of properties that every object has by its making. */
const PROTOTYPE_KEYS: ReadonlySet<string> = new Set(['__proto__', 'constructor', 'prototype']);
/** A key of that name, or one that is written with escapes and may be. */
const MAY_HOLD_THEM = /proto|constructor|\\u/;

/** What holds of every message, whatever it is about. Throws `daemon.invalid_request`, `daemon.too_large`. */
export function checkMessage(desc: DescMessage, message: Message): void {
  const seen = reflect(desc, message);
  for (const field of seen.fields) {
    if (!seen.isSet(field)) continue;
    const value: unknown = seen.get(field);
    switch (field.fieldKind) {
      case 'scalar':
        checkScalar(field, value);
        break;
      case 'list':
        checkList(field, value as Iterable<unknown> & { readonly size: number });
        break;
      case 'message':
        checkMessage(field.message, Object(value).message as Message);
        break;
      case 'map':
      case 'enum':
        break;
    }
  }
}

type ListField = DescField & { readonly fieldKind: 'list' };

function checkList(field: ListField, list: Iterable<unknown> & { readonly size: number }): void {
  if (list.size > MOST_ENTRIES) throw tooLarge(field, `has more than ${MOST_ENTRIES} entries`);
  for (const each of list) {
    if (field.listKind === 'message') checkMessage(field.message, Object(each).message as Message);
    if (field.listKind === 'scalar') checkScalar(field, each);
  }
}

function checkScalar(field: DescField & { readonly scalar: ScalarType }, value: unknown): void {
  if (field.scalar !== ScalarType.STRING || typeof value !== 'string') return;
  // SECURITY: T-57 — half a character has no bytes: what is recorded would not be what was decided about.
  if (!value.isWellFormed()) throw invalid(field, 'holds half a character');
  if (field.name.endsWith('_json')) {
    checkJson(field, value);
    return;
  }
  if (value.includes('\0')) throw invalid(field, 'holds a NUL character');
  if (value.length > LONGEST_TEXT && !WHOLE_TEXTS.has(field.name)) throw tooLarge(field, 'is too long');
  if (field.name.endsWith('_id') && !ID.test(value)) throw invalid(field, 'is no id');
}

/** Fields that carry a document of ours. */
const WHOLE_TEXTS: ReadonlySet<string> = new Set(['statement', 'text']);

/** SECURITY: T-39 — before anything walks it: neither so deep that walking ends the process, nor with keys that every object has. */
function checkJson(field: DescField, text: string): void {
  if (isDeeper(text, MOST_NESTED)) throw invalid(field, `is nested deeper than ${MOST_NESTED} levels`);
  if (MAY_HOLD_THEM.test(text) && holdsPrototypeKeys(text)) {
    throw invalid(field, 'has a key that every object has by its making');
  }
}

/** By its brackets outside of strings, and without reading it as JSON, which is for whoever uses it. */
function isDeeper(text: string, most: number): boolean {
  let depth = 0;
  let isString = false;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (isString) {
      if (code === BACKSLASH) at += 1;
      else if (code === QUOTE) isString = false;
    } else if (code === QUOTE) isString = true;
    else if (code === OPEN_BRACKET || code === OPEN_BRACE) {
      depth += 1;
      if (depth > most) return true;
    } else if (code === CLOSE_BRACKET || code === CLOSE_BRACE) depth -= 1;
  }
  return false;
}

const [QUOTE, BACKSLASH, OPEN_BRACKET, CLOSE_BRACKET, OPEN_BRACE, CLOSE_BRACE] = [34, 92, 91, 93, 123, 125];

function holdsPrototypeKeys(text: string): boolean {
  try {
    return hasKey(parseJson(text, { maxDepth: MOST_NESTED, maxLength: text.length, largeIntegers: 'nearest' }));
  } catch (error) {
    // What is no JSON is refused by whoever reads it, with the place.
    if (error instanceof PrimitivesError) return false;
    throw error;
  }
}

function hasKey(value: JsonValue): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (Array.isArray(value)) return value.some(hasKey);
  return Object.entries(value).some(([key, each]) => PROTOTYPE_KEYS.has(key) || hasKey(each));
}

function invalid({ name }: DescField, why: string): DaemonError {
  return new DaemonError('daemon.invalid_request', `The field ${name} ${why}.`, {
    fix: 'docs/reference/api.md says what each call takes.',
  });
}

function tooLarge({ name }: DescField, why: string): DaemonError {
  return new DaemonError('daemon.too_large', `The field ${name} ${why}.`, { fix: 'Send less, or in several calls.' });
}
