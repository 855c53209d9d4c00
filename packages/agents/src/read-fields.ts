import { isAbsolute, resolve } from 'node:path';
import { type JsonObject, type JsonValue, parseJson } from '@palyra/primitives';
import { AgentsError } from './agents-error.ts';

/** Of one message: tools put megabytes into what they report. */
const MOST_BYTES = 8 * 1024 * 1024;
const MOST_DEPTH = 64;

/** Throws `agents.bad_event`. SECURITY: T-57 — one value for each key, or the agent acts on the other one. */
export function readMessage(text: string): JsonObject {
  try {
    const value = parseJson(text, { maxDepth: MOST_DEPTH, maxLength: MOST_BYTES });
    if (isObject(value)) return value;
  } catch (cause) {
    throw new AgentsError('agents.bad_event', 'What the hook says cannot be read.', { cause });
  }
  throw new AgentsError('agents.bad_event', 'What the hook says is no object.');
}

/** Throws `agents.bad_event`. */
export function textOf(message: JsonObject, name: string): string {
  const value = message[name];
  if (typeof value === 'string' && value !== '') return value;
  throw new AgentsError('agents.bad_event', `What the hook says has no ${name}.`);
}

export function optionalText(message: JsonObject, name: string): string | undefined {
  const value = message[name];
  return typeof value === 'string' && value !== '' ? value : undefined;
}

/** Throws `agents.bad_event`. */
export function directoryOf(message: JsonObject, name: string): string {
  const path = textOf(message, name);
  if (isAbsolute(path) && !path.includes('\0')) return resolve(path);
  throw new AgentsError('agents.bad_event', `What the hook says is in no place: ${name} is no absolute path.`);
}

/** Throws `agents.bad_event`. Some programs send it as text. */
export function objectOf(message: JsonObject, name: string): JsonObject {
  const value = message[name];
  const read = typeof value === 'string' ? readMessage(value) : value;
  if (isObject(read)) return read;
  throw new AgentsError('agents.bad_event', `What the hook says has no ${name}.`);
}

export function isObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
