import { type JsonObject, type JsonValue, parseJson } from '@palyra/primitives';
import { AgentsError } from './agents-error.ts';
import type { FileEdit } from './client.ts';
import { isObject } from './read-fields.ts';

export interface JsonSettings {
  readonly path: string;
  /** What is added, for whoever has to paste it. */
  readonly part: JsonObject;
  /** Our part into the rest. Throws `agents.unknown_format`. */
  add(document: JsonObject): JsonObject;
  remove(document: JsonObject): JsonObject;
}

/** An edit of a JSON file that keeps its indentation, its line ends and the order of its keys. */
export function jsonEdit({ path, part, add, remove }: JsonSettings): FileEdit {
  return {
    path,
    pasted: JSON.stringify(part, null, 2),
    add(before) {
      const { document, render } = readDocument(before ?? '{}\n');
      const after = add(document);
      return JSON.stringify(after) === JSON.stringify(document) && before !== undefined ? before : render(after);
    },
    remove(now) {
      const { document, render } = readDocument(now);
      const rest = remove(document);
      return Object.keys(rest).length === 0 ? undefined : render(rest);
    },
  };
}

interface ReadDocument {
  readonly document: JsonObject;
  render(document: JsonObject): string;
}

function readDocument(text: string): ReadDocument {
  const body = text.replace(/^\uFEFF/, '');
  const value = readValue(body.trim() === '' ? '{}' : body);
  // Comments, trailing commas, duplicate keys: a program that reads them differently would lose them, or mean another value.
  if (!isObject(value)) throw unknownFormat('The file is not plain JSON with an object in it.');
  const [, indent = '  '] = /\n([ \t]+)"/.exec(body) ?? [];
  const ending = body.includes('\r\n') ? '\r\n' : '\n';
  const last = /\r?\n$/.test(body) || body.trim() === '' ? ending : '';
  const mark = text.startsWith('\uFEFF') ? '\uFEFF' : '';
  return {
    document: value,
    render: (document) => `${mark}${JSON.stringify(document, null, indent).replaceAll('\n', ending)}${last}`,
  };
}

function readValue(text: string): JsonValue | undefined {
  try {
    return parseJson(text, { maxDepth: 64, maxLength: 4 * 1024 * 1024 });
  } catch {
    return undefined;
  }
}

/** Throws `agents.unknown_format`. */
export function objectAt(document: JsonObject, name: string): JsonObject {
  const value = document[name];
  if (value === undefined) return {};
  if (isObject(value)) return value;
  throw unknownFormat(`${name} is not an object.`);
}

export function unknownFormat(message: string, cause?: unknown): AgentsError {
  return new AgentsError('agents.unknown_format', message, cause === undefined ? {} : { cause });
}

/** Without it where nothing is left in it. */
export function withMember(document: JsonObject, name: string, value: JsonObject): JsonObject {
  const { [name]: _, ...rest } = document;
  if (Object.keys(value).length === 0) return rest;
  return Object.hasOwn(document, name) ? { ...document, [name]: value } : { ...rest, [name]: value };
}
