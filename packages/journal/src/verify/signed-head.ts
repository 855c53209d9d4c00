import { bytesOfHex, equalBytes, hexOf } from '../format/bytes.ts';
import { findCosignature, parseCheckpoint } from '../format/checkpoint.ts';
import type { VerifyCrypto } from '../format/crypto.ts';
import {
  isSignedByRoot,
  type KeyValidity,
  keysValidAt,
  type SignedKeyStatement,
  validityBefore,
} from '../format/key-statement.ts';
import { isSignedBy, type SignedNote } from '../format/signed-note.ts';
import { JournalError } from '../journal-error.ts';
import type { Established, Finding, VerifyPins } from './report.ts';

/** One checkpoint and what it takes to believe it, as a file brings it along. */
export interface HeadClaim {
  readonly origin: string;
  /** Hexadecimal. */
  readonly rootKey: string;
  /** From before the checkpoint. */
  readonly keys: readonly SignedKeyStatement[];
  readonly checkpoint: string;
}

export interface SignedHead {
  readonly origin: string;
  readonly size: number;
  readonly root: Uint8Array;
  readonly note: SignedNote;
  readonly keys: readonly KeyValidity[];
}

export type Checked<Value> =
  | { readonly kind: 'holds'; readonly value: Value }
  | { readonly kind: 'fails'; readonly finding: Finding };

export interface CheckContext {
  readonly crypto: VerifyCrypto;
  readonly pins: VerifyPins;
}

/** Whether a key that the root certified for this size signed the checkpoint, and the root is the pinned one. */
export async function checkHead(claim: HeadClaim, { crypto, pins }: CheckContext): Promise<Checked<SignedHead>> {
  const rootKey = bytesOfHex(claim.rootKey) ?? new Uint8Array();
  // SECURITY: T-31 — a file brings its own root key along: against another pinned one it proves nothing.
  if (pins.rootKey !== undefined && !equalBytes(pins.rootKey, rootKey)) {
    return fails('root_differs', `The root key is ${claim.rootKey}, and ${hexOf(pins.rootKey)} is pinned.`);
  }
  for (const statement of claim.keys) {
    if (statement.origin === claim.origin && (await isSignedByRoot(statement, rootKey, crypto))) continue;
    return fails('key_uncertified', `The statement about the key ${statement.public_key} is not the root key's.`);
  }
  const keys = validityBefore(parse(claim.checkpoint)?.checkpoint.size ?? 0, claim.keys);
  return checkCheckpoint(claim.checkpoint, { origin: claim.origin, keys, crypto });
}

interface CheckpointContext {
  readonly origin: string;
  readonly keys: readonly KeyValidity[];
  readonly crypto: VerifyCrypto;
}

export async function checkCheckpoint(
  text: string,
  { origin, keys, crypto }: CheckpointContext,
): Promise<Checked<SignedHead>> {
  const parsed = parse(text);
  if (parsed === undefined || parsed.checkpoint.origin !== origin) {
    return fails('checkpoint_malformed', `The checkpoint is not one of the log ${origin}.`);
  }
  const { note, checkpoint } = parsed;
  const { size, root } = checkpoint;
  for (const { publicKey } of keysValidAt(keys, 'checkpoint', size)) {
    if (!(await isSignedBy(note, { name: origin, type: 1, publicKey }, crypto))) continue;
    return { kind: 'holds', value: { origin, size, root, note, keys } };
  }
  return fails('checkpoint_unsigned', `No key that was valid at size ${size} signed the checkpoint.`);
}

/** What is remembered elsewhere about a tree of the same size must be the same tree. Of other sizes nothing is known. */
export function differsFromRemembered({ origin, size, root }: SignedHead, pins: VerifyPins): Finding | undefined {
  const differing = pins.checkpoints.map(parse).find((known) => {
    const other = known?.checkpoint;
    return other?.origin === origin && other.size === size && !equalBytes(other.root, root);
  });
  if (differing === undefined) return undefined;
  return { code: 'forked', why: `A checkpoint that is remembered has another root at size ${size}.` };
}

/** For files that hold some of the key statements of a log: only the entries show that none is left out. */
export const RETIREMENT_UNKNOWN = 'Whether a key was retired before it signed can only be seen in the log itself.';

/** The highest level that these checkpoints of one log reach, all of which hold. */
export async function establish(heads: readonly SignedHead[], { crypto, pins }: CheckContext): Promise<Established> {
  // A witness vouches for what it saw, not for whose log it was.
  const { rootKey } = pins;
  if (rootKey === undefined) return { level: 'self_consistent' };
  const newestFirst = heads.toSorted((left, right) => right.size - left.size);
  for (const { note, size, keys } of newestFirst) {
    for (const witness of pins.witnesses) {
      // SECURITY: T-53 — whoever holds the log holds its keys: they see nothing that the log does not show them.
      if ([rootKey, ...keys.map((key) => key.publicKey)].some((own) => equalBytes(own, witness.publicKey))) continue;
      const found = await findCosignature(note, witness, crypto);
      if (found !== undefined) return { level: 'witnessed', size, time: found.time, witness: witness.name };
    }
  }
  return { level: 'signed' };
}

export function parse(text: string): ReturnType<typeof parseCheckpoint> | undefined {
  try {
    return parseCheckpoint(text);
  } catch (thrown) {
    if (thrown instanceof JournalError) return undefined;
    throw thrown;
  }
}

export function fails(code: Finding['code'], why: string, seq?: number): { kind: 'fails'; finding: Finding } {
  return { kind: 'fails', finding: seq === undefined ? { code, why } : { code, seq, why } };
}
