import type { Timestamp } from '@bufbuild/protobuf/wkt';
import { timestampDate } from '@bufbuild/protobuf/wkt';
import type { JsonValue } from '@palyra/primitives';
import { ClientError } from '../client-error.ts';

/** From what protobuf makes of a message to plain data, with the names that JSON has on every surface. */

/** A field that may be absent may be undefined here, and one that may not may not. */
type Fields<T> = { readonly [Name in keyof T]: object extends Pick<T, Name> ? T[Name] | undefined : T[Name] };

/** Without what was not said. */
export function said<T extends object>(fields: Fields<T>): T {
  const all: Partial<T> = {};
  for (const name of Object.keys(fields) as (keyof T & string)[]) {
    if (fields[name] !== undefined) all[name] = fields[name];
  }
  return all as T;
}

/** On the wire an empty text is one that was not said. */
export function text(value: string): string | undefined {
  return value === '' ? undefined : value;
}

/** RFC 3339. */
export function time(value: Timestamp | undefined): string | undefined {
  return value === undefined ? undefined : timestampDate(value).toISOString();
}

/** Throws `client.protocol` for a number that JavaScript does not hold exactly. */
export function number(value: bigint): number {
  if (value <= BigInt(Number.MAX_SAFE_INTEGER)) return Number(value);
  throw new ClientError('client.protocol', 'palyrad told a number that is larger than any it should.');
}

/** Throws `client.protocol`. */
export function json(value: string): JsonValue | undefined {
  if (value === '') return undefined;
  try {
    return JSON.parse(value) as JsonValue;
  } catch (cause) {
    throw new ClientError('client.protocol', 'palyrad told a value that is not JSON.', { cause });
  }
}
