import { canonicalJsonBytes } from '@palyra/primitives/browser';
import { bytesOfHex, hexOf } from './bytes.ts';
import type { Signer, VerifyCrypto } from './crypto.ts';

export type KeyRole = 'checkpoint' | 'attestation';

/**
 * The root key's word on one key of one log: it signs for its role from the position on, or no longer after it. The
 * position is a size of the log, so that no clock has a say in what is valid.
 */
export interface KeyStatement {
  readonly origin: string;
  readonly change: 'activated' | 'retired';
  readonly role: KeyRole;
  /** Hexadecimal, as in the chain. */
  readonly public_key: string;
  readonly position: number;
}

export interface SignedKeyStatement extends KeyStatement {
  /** The root key's Ed25519 signature, hexadecimal. */
  readonly signature: string;
}

const FORMAT = 'palyra.key/1';
const KEY_BYTES = 32;

/** What the root key signs: the canonical JSON of the statement with its format. */
function signedBytes({ origin, change, role, public_key, position }: KeyStatement): Uint8Array {
  return canonicalJsonBytes({ format: FORMAT, origin, change, role, public_key, position });
}

export function signKeyStatement(statement: KeyStatement, root: Signer): SignedKeyStatement {
  return { ...statement, signature: hexOf(root.sign(signedBytes(statement))) };
}

/** False for anything but a valid signature. Never throws. */
export async function isSignedByRoot(
  statement: SignedKeyStatement,
  rootKey: Uint8Array,
  crypto: VerifyCrypto,
): Promise<boolean> {
  const signature = bytesOfHex(statement.signature);
  const message = bytesOf(statement);
  if (signature === undefined || message === undefined) return false;
  return crypto.verifyEd25519({ publicKey: rootKey, message, signature });
}

/** Undefined for a statement that has no canonical spelling, so that nobody can have signed it. */
function bytesOf(statement: KeyStatement): Uint8Array | undefined {
  try {
    return signedBytes(statement);
  } catch {
    return undefined;
  }
}

/** When each key of a log was valid. */
export interface KeyValidity {
  readonly role: KeyRole;
  readonly publicKey: Uint8Array;
  /** The smallest size of the log that the key may have signed for. */
  readonly from: number;
  /** The largest; absent while the key is in use. */
  readonly until: number | undefined;
}

/** Statements in the order of the log. Later statements about a key end it; they never revive or widen it. */
export function validityOf(statements: readonly KeyStatement[]): readonly KeyValidity[] {
  const keys: KeysByName = new Map();
  for (const statement of statements) takeStatement(keys, statement);
  return [...keys.values()];
}

/**
 * Of statements that all stand in entries before this size. SECURITY: T-53 — a retirement is signed before its place is known, and so
 * bounds a key by a size beyond it; from that place on the key counts for nothing, and who stole it must not go on.
 */
export function validityBefore(size: number, statements: readonly KeyStatement[]): readonly KeyValidity[] {
  return validityOf(
    statements.map((each) =>
      each.change === 'retired' && each.position >= size ? { ...each, position: size - 1 } : each,
    ),
  );
}

/** By role and public key. */
export type KeysByName = Map<string, KeyValidity>;

/** As `validityOf` does for one statement more. */
export function takeStatement(keys: KeysByName, { role, public_key, change, position }: KeyStatement): void {
  const id = `${role} ${public_key}`;
  const known = keys.get(id);
  if (change === 'activated') {
    const publicKey = bytesOfHex(public_key);
    if (known === undefined && publicKey?.length === KEY_BYTES)
      keys.set(id, { role, publicKey, from: position, until: undefined });
  } else if (known !== undefined) {
    keys.set(id, { ...known, until: Math.min(known.until ?? position, position) });
  }
}

/** The keys that may have signed for this role when the log had `size` entries. */
export function keysValidAt(keys: readonly KeyValidity[], role: KeyRole, size: number): readonly KeyValidity[] {
  return keys.filter((key) => key.role === role && key.from <= size && (key.until === undefined || size <= key.until));
}
