import { bytesOfHex } from '../format/bytes.ts';
import {
  type Check,
  choice,
  count,
  digest,
  type Fields,
  list,
  matching,
  object,
  origin,
  rule,
  textUpTo,
} from '../format/check-shape.ts';
import type { SignedKeyStatement } from '../format/key-statement.ts';

/** The parts of a log as exports and bundles spell them in JSON: bytes in lower-case hexadecimal, bodies in base64. */

/** An entry with its place. `data` is text: exactly what was hashed. */
export interface WrittenEntry {
  readonly seq: number;
  readonly time: number;
  readonly actor: string;
  readonly kind: string;
  readonly version: number;
  readonly data: string;
  readonly hash: string;
}

/** An entry that stands alone, with the hash of the one before it and the proof that it is in the tree. */
export interface ProvenEntry extends WrittenEntry {
  readonly previous: string;
  readonly proof: readonly string[];
}

/** Longer than any entry that Palyra writes. */
const MAX_DATA = 1024 * 1024;
const MAX_NOTE = 64 * 1024;
const MAX_SNAPSHOT = 4 * 1024 * 1024;

export const note: Check<string> = textUpTo(MAX_NOTE);
export const snapshotText: Check<string> = textUpTo(MAX_SNAPSHOT);
export const vkey: Check<string> = textUpTo(512);
const shortText = textUpTo(256);

export const entryFields: Fields<WrittenEntry> = {
  seq: count,
  time: count,
  actor: shortText,
  kind: shortText,
  version: count,
  data: textUpTo(MAX_DATA),
  hash: digest,
};

export const provenFields: Fields<ProvenEntry> = { ...entryFields, previous: digest, proof: list(digest) };

export const provenEntry: Check<ProvenEntry> = object<ProvenEntry>(provenFields);

const keyStatement: Check<SignedKeyStatement> = object<SignedKeyStatement>({
  origin,
  change: choice('activated', 'retired'),
  role: choice('checkpoint', 'attestation'),
  public_key: digest,
  position: count,
  signature: matching(/^[0-9a-f]{128}$/, 'a signature in lower-case hexadecimal'),
});

/** More than other lists may have: a key that is rotated every day makes two statements each time. */
export const MAX_STATEMENTS: number = 16_384;

export const keyStatements: Check<readonly SignedKeyStatement[]> = (
  value,
  fault,
): value is readonly SignedKeyStatement[] => {
  if (!Array.isArray(value) || value.length > MAX_STATEMENTS) {
    fault.reason = `is not a list of at most ${MAX_STATEMENTS} key statements`;
    return false;
  }
  return value.every((statement) => keyStatement(statement, fault));
};

/** Base64 in its one spelling; which bytes they are is found out when they are needed. */
export const base64: Check<string> = rule('is not text', (value): value is string => typeof value === 'string');

/** Of text that `digest` has found to be hexadecimal. */
export function bytesOf(hexadecimal: string): Uint8Array {
  return bytesOfHex(hexadecimal) ?? new Uint8Array();
}
