import { type JsonObject, type JsonValue, PrimitivesError, parseJson } from '@palyra/primitives';
import { asSentence, checkSchema } from './check-schema.ts';
import { readInputSchema } from './input-schema.ts';
import type { ToolMetadata, ToolRefusal } from './tool.ts';

export type ParsedInput = { readonly kind: 'parsed'; readonly value: JsonObject } | ToolRefusal;

/** In bytes. Whatever is larger goes through files. */
export const MAX_INPUT_BYTES: number = 1024 * 1024;
/** No schema of ours is half as deep. */
const MAX_DEPTH = 32;

/** JSON text to what the tool takes. Does not throw because of the text. */
export function parseInput(
  text: string,
  { name, inputSchema }: Pick<ToolMetadata, 'name' | 'inputSchema'>,
): ParsedInput {
  // SECURITY: T-39 — the size first, as bytes: a megabyte of letters may be three of what is kept and hashed.
  if (text.length > MAX_INPUT_BYTES || Buffer.byteLength(text) > MAX_INPUT_BYTES) {
    return invalid(`The input is larger than ${MAX_INPUT_BYTES} bytes.`, 'Send less, or send it in parts.');
  }
  const parsed = readJson(text);
  if (parsed.kind === 'refused') return parsed;
  const { value } = parsed;
  const problem = checkSchema(readInputSchema(name, inputSchema), value);
  if (problem !== undefined)
    return invalid(asSentence(problem), problem.fix ?? `\`palyra tool list\` shows what ${name} takes.`);
  return { kind: 'parsed', value: value as JsonObject };
}

function readJson(text: string): { readonly kind: 'read'; readonly value: JsonValue } | ToolRefusal {
  try {
    // SECURITY: T-57 — one value for each key, or we decide on one and somebody else acts on the other.
    return { kind: 'read', value: parseJson(text, { maxDepth: MAX_DEPTH, maxLength: MAX_INPUT_BYTES }) };
  } catch (error) {
    if (!(error instanceof PrimitivesError)) throw error;
    return invalid(`The input cannot be read: ${error.message}`, error.fix);
  }
}

function invalid(message: string, fix: string | undefined): ToolRefusal {
  return { kind: 'refused', code: 'gateway.invalid_input', message, fix };
}
