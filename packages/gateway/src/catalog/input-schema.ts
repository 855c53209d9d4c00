import type { JsonObject, JsonValue } from '@palyra/primitives';
import { GatewayError } from '../gateway-error.ts';

/** The part of JSON Schema that tools of ours use: plain data, to show and to check with. */
export type InputSchema = ObjectSchema | MapSchema | TextSchema | WholeSchema | FlagSchema | ListSchema | AnySchema;

/** Named fields, and no others. */
export interface ObjectSchema {
  readonly type: 'object';
  readonly description?: string;
  readonly properties: Readonly<Record<string, InputSchema>>;
  readonly required: readonly string[];
  readonly additionalProperties: false;
}

/** Names that the caller chooses. */
export interface MapSchema {
  readonly type: 'object';
  readonly description?: string;
  readonly additionalProperties: InputSchema;
  readonly propertyNames: { readonly pattern: string };
  readonly maxProperties: number;
}

export interface TextSchema {
  readonly type: 'string';
  readonly description?: string;
  readonly enum?: readonly string[];
  /** In characters, as JSON Schema counts them: code points. */
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly pattern?: string;
}

export interface WholeSchema {
  readonly type: 'integer';
  readonly description?: string;
  readonly minimum: number;
  readonly maximum: number;
}

export interface FlagSchema {
  readonly type: 'boolean';
  readonly description?: string;
}

export interface ListSchema {
  readonly type: 'array';
  readonly description?: string;
  readonly items: InputSchema;
  readonly minItems?: number;
  readonly maxItems: number;
}

/** Any JSON: for whoever the tool hands it to. */
export interface AnySchema {
  readonly type: readonly ['object', 'array', 'string', 'number', 'boolean', 'null'];
  readonly description?: string;
}

export const ANY_TYPES: AnySchema['type'] = ['object', 'array', 'string', 'number', 'boolean', 'null'];

type Rule = (value: JsonValue) => boolean;

const isText: Rule = (value) => typeof value === 'string';
const isWhole: Rule = (value) => Number.isSafeInteger(value);
const isCount: Rule = (value) => isWhole(value) && (value as number) >= 0;
const isTexts: Rule = (value) => Array.isArray(value) && value.length > 0 && value.every(isText);
const isNested: Rule = (value) => isSchema(value);

const TEXT: Keywords = {
  needed: {},
  allowed: { enum: isTexts, minLength: isCount, maxLength: isCount, pattern: isPattern },
};
const NAMED: Keywords = {
  needed: {
    properties: (value) => isObject(value) && Object.values(value).every(isNested),
    required: (value) => Array.isArray(value) && value.every(isText),
    additionalProperties: (value) => value === false,
  },
  allowed: {},
};
const MAP: Keywords = {
  needed: {
    additionalProperties: isNested,
    propertyNames: (value) =>
      isObject(value) && Object.keys(value).join() === 'pattern' && isPattern(value['pattern'] ?? null),
    maxProperties: isCount,
  },
  allowed: {},
};
const WHOLE: Keywords = { needed: { minimum: isWhole, maximum: isWhole }, allowed: {} };
const FLAG: Keywords = { needed: {}, allowed: {} };
const LIST: Keywords = { needed: { items: isNested, maxItems: isCount }, allowed: { minItems: isCount } };

const PLAIN_TYPES: Readonly<Record<string, Keywords>> = { string: TEXT, integer: WHOLE, boolean: FLAG, array: LIST };

interface Keywords {
  readonly needed: Readonly<Record<string, Rule>>;
  readonly allowed: Readonly<Record<string, Rule>>;
}

/** Throws `gateway.invalid_catalog` for anything but an object schema of the above: what no check knows, no check holds. */
export function readInputSchema(tool: string, schema: JsonObject): ObjectSchema {
  if (sound.has(schema)) return schema as unknown as ObjectSchema;
  if (isSchema(schema) && isObjectSchema(schema)) {
    sound.add(schema);
    return schema;
  }
  throw new GatewayError(
    'gateway.invalid_catalog',
    `The input schema of ${tool} says something that is not checked here.`,
    {
      fix: 'packages/gateway/src/catalog/input-schema.ts lists what a schema may say.',
    },
  );
}

/** Looked at once: they do not change. */
const sound = new WeakSet<object>();

function isObjectSchema(schema: InputSchema): schema is ObjectSchema {
  if (schema.type !== 'object' || !('properties' in schema)) return false;
  return schema.required.every((name) => Object.hasOwn(schema.properties, name));
}

function isSchema(value: JsonValue | InputSchema): value is InputSchema & JsonObject {
  if (!isObject(value)) return false;
  const keywords = keywordsFor(value);
  if (keywords === undefined) return false;
  const { type: _, description = '', ...rest } = value;
  const rules = { ...keywords.needed, ...keywords.allowed };
  return (
    isText(description) &&
    Object.keys(keywords.needed).every((name) => Object.hasOwn(rest, name)) &&
    // SECURITY: T-57 — a keyword that is not known is not enforced, and whoever reads the schema believes that it is.
    Object.entries(rest).every(([name, given]) => Object.hasOwn(rules, name) && rules[name]?.(given) === true)
  );
}

const ANY: Keywords = { needed: {}, allowed: {} };

function keywordsFor({ type, ...schema }: JsonObject): Keywords | undefined {
  if (Array.isArray(type)) return type.join() === ANY_TYPES.join() ? ANY : undefined;
  if (type === 'object') return Object.hasOwn(schema, 'properties') ? NAMED : MAP;
  return typeof type === 'string' && Object.hasOwn(PLAIN_TYPES, type) ? PLAIN_TYPES[type] : undefined;
}

function isPattern(value: JsonValue): boolean {
  if (typeof value !== 'string') return false;
  try {
    return new RegExp(value, 'u') instanceof RegExp;
  } catch {
    return false;
  }
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
