import { type JsonValue, parseJson } from '@palyra/primitives';

/** What a guest says in JSON; undefined when it is none, or could be read in two ways. */
export function jsonOf(bytes: Uint8Array): JsonValue | undefined {
  try {
    // SECURITY: T-57 — one reading of what the guest says, or none.
    return parseJson(Buffer.from(bytes), { maxLength: bytes.length });
  } catch {
    return undefined;
  }
}
