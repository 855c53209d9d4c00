import { type JsonObject, type JsonValue, parseJson } from '@palyra/primitives';
import { unknownFormat } from '../json-settings.ts';
import { isObject } from '../read-fields.ts';

/** Settings in JSON, as an agent reads them. Throws `agents.unknown_format`. */
export function readSettings(text: string): JsonObject {
  const body = text.replace(/^\uFEFF/, '');
  try {
    const value = parseJson(body.trim() === '' ? '{}' : body, { maxDepth: 64, maxLength: 4 * 1024 * 1024 });
    if (isObject(value)) return value;
  } catch (cause) {
    throw unknownFormat('The settings are not plain JSON.', cause);
  }
  throw unknownFormat('The settings are no object.');
}

/** Texts of a list, which may be absent. Throws `agents.unknown_format`. */
export function listOf(settings: JsonObject, ...names: readonly [string, ...string[]]): readonly string[] {
  let value: JsonValue | undefined = settings;
  for (const name of names) {
    if (value === undefined) return [];
    if (!isObject(value)) throw unknownFormat(`${name} is in no object.`);
    value = value[name];
  }
  if (value === undefined || value === null) return [];
  if (Array.isArray(value) && value.every((each): each is string => typeof each === 'string')) return value;
  throw unknownFormat(`${names.join('.')} is no list of rules.`);
}

/** `TOOL` and `TOOL(ABOUT)`. */
export function toolRule(text: string): { readonly tool: string; readonly about: string | undefined } {
  const rule = text.trim();
  const open = rule.search(/[()]/);
  if (open < 1 || rule[open] === ')' || !rule.endsWith(')')) return { tool: rule, about: undefined };
  return { tool: rule.slice(0, open).trim(), about: rule.slice(open + 1, -1) };
}
