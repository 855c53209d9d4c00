import { bytesOfHex, equalBytes, hexOf } from '../format/bytes.ts';
import type { VerifyCrypto } from '../format/crypto.ts';
import type { SignedKeyStatement } from '../format/key-statement.ts';
import { decodeFrontier, type Frontier, HASH_BYTES, rootOf } from '../format/merkle-tree.ts';
import type { Agreement } from './compare-past.ts';
import type { LogBase, LogSource } from './log-source.ts';
import type { Finding, VerifiedState, VerifyPins, WitnessedSize } from './report.ts';

/** Where a verification begins, and what it may believe of what came before. */
export type Beginning =
  | {
      readonly kind: 'base' | 'continued';
      readonly base: LogBase;
      readonly rootKey: Uint8Array;
      /** From an earlier verification; empty at the base. */
      readonly keys: readonly SignedKeyStatement[];
      /** What witnesses saw, as an earlier verification of the same log found. */
      readonly witnessed: readonly WitnessedSize[];
    }
  | { readonly kind: 'broken'; readonly finding: Finding };

interface BeginOptions {
  readonly crypto: VerifyCrypto;
  readonly pins: VerifyPins;
  readonly start?: VerifiedState;
}

/** Throws nothing: a state that was damaged is a state of another log. */
export async function beginWalk(source: LogSource, { crypto, pins, start }: BeginOptions): Promise<Beginning> {
  const rootKey = bytesOfHex(source.rootKey);
  if (rootKey?.length !== HASH_BYTES) return broken('not_a_log', 'The log does not say what its root key is.');
  if (pins.rootKey !== undefined && !equalBytes(pins.rootKey, rootKey)) {
    return broken(
      'root_differs',
      `The root key of the log is ${source.rootKey}, and ${hexOf(pins.rootKey)} is pinned.`,
    );
  }
  const fromBase: Beginning = { kind: 'base', base: source.base, rootKey, keys: [], witnessed: [] };
  if (start === undefined) return fromBase;
  const frontier = frontierOf(start);
  const previous = bytesOfHex(start.previous);
  if (frontier === undefined || previous?.length !== HASH_BYTES || start.origin !== source.origin) {
    return broken('forked', `What was verified before is the log ${start.origin}, which is another one.`);
  }
  if (start.rootKey !== source.rootKey) return broken('root_differs', 'The log had another root key before.');
  if (start.size < source.base.frontier.size) {
    const agreement = await comparedBeforeBase(source, frontier, crypto);
    if (agreement === 'differs') {
      return broken('forked', `At size ${frontier.size} the log is not the one that was verified before.`);
    }
    // SECURITY: T-53 — what was known of the keys must still be said, or a retirement could be pruned away.
    const isSaid = start.keys.every((each, at) => isSame(each, source.earlierKeys[at]));
    if (!isSaid) return broken('forked', 'The keys of the log are not those that it was verified with before.');
    return agreement === 'agrees' ? { ...fromBase, witnessed: witnessedIn(start) } : fromBase;
  }
  return { kind: 'continued', base: { frontier, previous }, rootKey, keys: start.keys, witnessed: witnessedIn(start) };
}

function frontierOf({ size, frontier }: VerifiedState): Frontier | undefined {
  return decodeFrontier(size, bytesOfHex(frontier.join('')) ?? new Uint8Array([0]));
}

/** The log was pruned beyond where the last verification ended; it must still be the same log up to there. */
async function comparedBeforeBase(source: LogSource, frontier: Frontier, { sha256 }: VerifyCrypto): Promise<Agreement> {
  const root = await source.earlierRoot?.(frontier.size);
  if (root === undefined) return 'unknown';
  return equalBytes(root, rootOf(frontier, sha256)) ? 'agrees' : 'differs';
}

/** Those of the form that verifications leave; a state without them, or with others, is one without witnesses. */
function witnessedIn({ size: most, witnessed }: VerifiedState): readonly WitnessedSize[] {
  if (!Array.isArray(witnessed)) return [];
  return (witnessed as readonly Partial<WitnessedSize>[]).flatMap((seen) => {
    const { size, time, witness } = seen ?? {};
    const isWhole = isCount(size) && size <= most && isCount(time) && typeof witness === 'string';
    return isWhole ? [{ size, time, witness }] : [];
  });
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

function broken(code: Finding['code'], why: string): Beginning {
  return { kind: 'broken', finding: { code, why } };
}

function isSame(one: SignedKeyStatement, other: SignedKeyStatement | undefined): boolean {
  return one.signature === other?.signature && one.public_key === other.public_key && one.change === other.change;
}
