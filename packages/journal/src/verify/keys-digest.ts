import { canonicalJsonBytes } from '@palyra/primitives/browser';
import { hexOf } from '../format/bytes.ts';
import type { Sha256 } from '../format/crypto.ts';
import type { SignedKeyStatement } from '../format/key-statement.ts';

/**
 * What `segment.pruned` says about the key statements in the entries it lets go: hexadecimal SHA-256 of their canonical
 * JSON, a list in the order of the log. Without it, whoever holds the log could leave out that a key was retired.
 */
export function keysDigest(statements: readonly SignedKeyStatement[], sha256: Sha256): string {
  const written = statements.map(({ origin, change, role, public_key, position, signature }) => ({
    origin,
    change,
    role,
    public_key,
    position,
    signature,
  }));
  return hexOf(sha256(canonicalJsonBytes(written)));
}
