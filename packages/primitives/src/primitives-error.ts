import { AppError } from './app-error.ts';

/** Codes are API: add one, never rename one. */
export const PRIMITIVES_ERRORS = {
  'primitives.invalid_id': 'The text is not a ULID in its one canonical spelling.',
  'primitives.clock_out_of_range': 'The clock shows a time that no ULID can hold.',
  'primitives.invalid_digest': 'The text is not a SHA-256 digest of 64 lower-case hexadecimal digits.',
  'primitives.ambiguous_text': 'The text holds half a surrogate pair, so it has no bytes of its own.',
  'primitives.not_json': 'The value cannot be written as JSON without loss.',
  'primitives.json_syntax': 'The text is not JSON.',
  'primitives.json_duplicate_key': 'An object names the same key twice.',
  'primitives.json_lone_surrogate': 'A string holds half a surrogate pair.',
  'primitives.json_number_range': 'A number cannot be held exactly enough.',
  'primitives.json_invalid_utf8': 'The bytes are not UTF-8.',
  'primitives.json_too_deep': 'Arrays and objects are nested deeper than allowed.',
  'primitives.json_too_large': 'The text is larger than allowed.',
  'primitives.secret_wiped': 'The secret was wiped from memory and can no longer be read.',
} as const;

export type PrimitivesErrorCode = keyof typeof PRIMITIVES_ERRORS;

export class PrimitivesError extends AppError<PrimitivesErrorCode> {}
