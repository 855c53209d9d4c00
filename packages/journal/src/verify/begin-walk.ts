import { bytesOfHex, equalBytes, hexOf } from '../format/bytes.ts';
import type { VerifyCrypto } from '../format/crypto.ts';
import type { SignedKeyStatement } from '../format/key-statement.ts';
import { type Frontier, HASH_BYTES, rootOf } from '../format/merkle-tree.ts';
import type { LogBase, LogSource } from './log-source.ts';
import type { Finding, VerifiedState, VerifyPins } from './report.ts';

/** Where a verification begins, and what it may believe of what came before. */
export type Beginning =
  | {
      readonly kind: 'base' | 'continued';
      readonly base: LogBase;
      readonly rootKey: Uint8Array;
      /** From an earlier verification; empty at the base. */
      readonly keys: readonly SignedKeyStatement[];
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
  const fromBase: Beginning = { kind: 'base', base: source.base, rootKey, keys: [] };
  if (start === undefined) return fromBase;
  const frontier = frontierOf(start);
  const previous = bytesOfHex(start.previous);
  if (frontier === undefined || previous?.length !== HASH_BYTES || start.origin !== source.origin) {
    return broken('forked', `What was verified before is the log ${start.origin}, which is another one.`);
  }
  if (start.rootKey !== source.rootKey) return broken('root_differs', 'The log had another root key before.');
  if (start.size < source.base.frontier.size) {
    return (await differsBeforeBase(source, frontier, crypto)) ?? fromBase;
  }
  return { kind: 'continued', base: { frontier, previous }, rootKey, keys: start.keys };
}

function frontierOf({ size, frontier }: VerifiedState): Frontier | undefined {
  const roots = frontier.map(bytesOfHex);
  const isSound = (root: Uint8Array | undefined): root is Uint8Array => root?.length === HASH_BYTES;
  if (!roots.every(isSound) || roots.length !== bitsIn(size)) return undefined;
  return { size, roots };
}

function bitsIn(size: number): number {
  let bits = 0;
  for (let rest = size; rest > 0; rest = Math.floor(rest / 2)) bits += rest % 2;
  return bits;
}

/** The log was pruned beyond where the last verification ended; it must still be the same log up to there. */
async function differsBeforeBase(
  source: LogSource,
  frontier: Frontier,
  { sha256 }: VerifyCrypto,
): Promise<Beginning | undefined> {
  const root = await source.earlierRoot?.(frontier.size);
  if (root === undefined || equalBytes(root, rootOf(frontier, sha256))) return undefined;
  return broken('forked', `At size ${frontier.size} the log is not the one that was verified before.`);
}

function broken(code: Finding['code'], why: string): Beginning {
  return { kind: 'broken', finding: { code, why } };
}
