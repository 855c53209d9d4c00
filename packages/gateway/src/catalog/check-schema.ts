import { visibleText } from '@palyra/primitives';
import type { AnySchema, InputSchema, ListSchema, MapSchema, ObjectSchema, TextSchema } from './input-schema.ts';
import { nearestField } from './nearest-field.ts';

/** The first thing in an input that is not what the schema says. */
export interface SchemaProblem {
  /** Such as `argv[2]`; empty for the input itself. */
  readonly path: string;
  /** What is there instead, to be read behind the path: `is not text`. */
  readonly what: string;
  readonly fix: string | undefined;
}

/** Undefined when the value is what the schema says. Reads own properties only; does not throw. */
export function checkSchema(schema: InputSchema, value: unknown, path: string = ''): SchemaProblem | undefined {
  if (isAny(schema)) return checkAny(value, path);
  switch (schema.type) {
    case 'object':
      if (!isObject(value)) return problem(path, 'is not an object');
      return 'properties' in schema ? checkFields(schema, value, path) : checkMap(schema, value, path);
    case 'array':
      return checkList(schema, value, path);
    case 'string':
      return typeof value === 'string' ? checkText(schema, value, path) : problem(path, 'is not text');
    case 'integer': {
      if (!Number.isSafeInteger(value)) return problem(path, 'is not a whole number');
      const { minimum, maximum } = schema;
      const isWithin = (value as number) >= minimum && (value as number) <= maximum;
      return isWithin ? undefined : problem(path, `is not between ${minimum} and ${maximum}`);
    }
    case 'boolean':
      return typeof value === 'boolean' ? undefined : problem(path, 'is neither true nor false');
  }
}

function isAny(schema: InputSchema): schema is AnySchema {
  return Array.isArray(schema.type);
}

/** SECURITY: T-57 — whatever it is, it reads the same everywhere: no half characters, no numbers that are none. */
function checkAny(value: unknown, path: string): SchemaProblem | undefined {
  if (typeof value === 'string') return value.isWellFormed() ? undefined : problem(path, 'holds half a character');
  if (typeof value === 'number') return Number.isFinite(value) ? undefined : problem(path, 'is no number');
  if (Array.isArray(value)) return firstProblem([...value.entries()].map(([at, each]) => [`${path}[${at}]`, each]));
  if (!isObject(value)) return undefined;
  const badName = Object.keys(value).find((name) => !name.isWellFormed());
  if (badName !== undefined) return problem(path, 'has a name that holds half a character');
  return firstProblem(Object.entries(value).map(([name, each]) => [below(path, name), each]));
}

function firstProblem(parts: readonly (readonly [string, unknown])[]): SchemaProblem | undefined {
  for (const [path, each] of parts) {
    const found = checkAny(each, path);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** One sentence. Texts of the input in it are made safe to show. */
export function asSentence({ path, what }: SchemaProblem): string {
  return path === '' ? `The input ${what}.` : `The field ${path} ${what}.`;
}

type Fields = Readonly<Record<string, unknown>>;

function checkFields(schema: ObjectSchema, value: Fields, path: string): SchemaProblem | undefined {
  const known = Object.keys(schema.properties);
  // SECURITY: T-57 — a field that nobody checks is one that somebody may read all the same.
  const unknown = Object.keys(value).find((name) => !Object.hasOwn(schema.properties, name));
  if (unknown !== undefined) {
    const nearest = nearestField(unknown, known);
    const fix = nearest === undefined ? `There are: ${known.join(', ')}.` : `Did you mean ${nearest}?`;
    return problem(below(path, unknown), 'is not known', fix);
  }
  const missing = schema.required.find((name) => !Object.hasOwn(value, name));
  if (missing !== undefined) return problem(below(path, missing), 'is missing');
  for (const [name, each] of Object.entries(schema.properties)) {
    const found = Object.hasOwn(value, name) ? checkSchema(each, value[name], below(path, name)) : undefined;
    if (found !== undefined) return found;
  }
  return undefined;
}

function checkMap(schema: MapSchema, value: Fields, path: string): SchemaProblem | undefined {
  const entries = Object.entries(value);
  if (entries.length > schema.maxProperties) return problem(path, `has more than ${schema.maxProperties} fields`);
  const names = new RegExp(schema.propertyNames.pattern, 'u');
  for (const [name, each] of entries) {
    if (!names.test(name)) return problem(below(path, name), 'is not a name that may stand there');
    const found = checkSchema(schema.additionalProperties, each, below(path, name));
    if (found !== undefined) return found;
  }
  return undefined;
}

function checkList(schema: ListSchema, value: unknown, path: string): SchemaProblem | undefined {
  const { minItems = 0, maxItems, items } = schema;
  if (!Array.isArray(value)) return problem(path, 'is not a list');
  if (value.length < minItems) return problem(path, minItems === 1 ? 'is empty' : `has fewer than ${minItems} items`);
  if (value.length > maxItems) return problem(path, `has more than ${maxItems} items`);
  for (const [index, item] of value.entries()) {
    const found = checkSchema(items, item, `${path}[${index}]`);
    if (found !== undefined) return found;
  }
  return undefined;
}

function checkText(schema: TextSchema, value: string, path: string): SchemaProblem | undefined {
  // SECURITY: T-57 — half a character becomes another one on its way, and what was decided is not what is done.
  if (!value.isWellFormed()) return problem(path, 'holds half a character');
  const { minLength = 0, maxLength = Infinity } = schema;
  if (schema.enum !== undefined && !schema.enum.includes(value)) {
    return problem(path, `is none of ${schema.enum.join(', ')}`);
  }
  if (isShorter(value, minLength))
    return problem(path, minLength === 1 ? 'is empty' : `is shorter than ${minLength} characters`);
  if (!isShorter(value, maxLength + 1)) return problem(path, `is longer than ${maxLength} characters`);
  if (schema.pattern !== undefined && !new RegExp(schema.pattern, 'u').test(value))
    return problem(path, 'is malformed');
  return undefined;
}

/** Counted only where it matters: a character has one or two code units. */
function isShorter(text: string, characters: number): boolean {
  if (text.length < characters) return true;
  if (text.length >= 2 * characters) return false;
  let count = 0;
  for (const _ of text) count += 1;
  return count < characters;
}

function problem(path: string, what: string, fix?: string): SchemaProblem {
  return { path, what, fix };
}

// SECURITY: T-08 — the name is the caller's, and the sentence is shown to people.
function below(path: string, name: string): string {
  const shown = visibleText(name, { maxCharacters: 80 });
  return path === '' ? shown : `${path}.${shown}`;
}

function isObject(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
