import { JournalError } from '../journal-error.ts';
import type { Sha256 } from './crypto.ts';

export const SALT_BYTES = 32;

/** The name of a body: without the salt, nobody can guess the body from it (T-54). Throws `journal.body_corrupt`. */
export function commitmentOf(salt: Uint8Array, body: Uint8Array, sha256: Sha256): Uint8Array {
  // SECURITY: T-31 — with a salt of another length, bytes could move between salt and body: another body, same name.
  if (salt.length !== SALT_BYTES) {
    throw new JournalError('journal.body_corrupt', `The salt of a body is not of ${SALT_BYTES} bytes.`);
  }
  return sha256(salt, body);
}
