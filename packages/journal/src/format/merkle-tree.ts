import { concat } from './bytes.ts';
import type { Sha256 } from './crypto.ts';

/** Merkle trees as in RFC 6962, section 2.1. Leaves are given by their hashes; sizes are safe integers. */

const NODE = new Uint8Array([1]);
export const HASH_BYTES = 32;

const pair = new Uint8Array(1 + 2 * HASH_BYTES);
pair.set(NODE);

export function hashChildren(left: Uint8Array, right: Uint8Array, sha256: Sha256): Uint8Array {
  if (left.length !== HASH_BYTES || right.length !== HASH_BYTES) return sha256(NODE, left, right);
  // In one piece, which is most of what a tree spends its time on.
  pair.set(left, 1);
  pair.set(right, 1 + HASH_BYTES);
  return sha256(pair);
}

/** The hash of the tree without leaves. */
function emptyRoot(sha256: Sha256): Uint8Array {
  return sha256();
}

/**
 * All that is needed to add leaves and to know the root: the roots of the complete subtrees that the leaves form, from
 * the largest to the smallest, one for each bit of the size.
 */
export interface Frontier {
  readonly size: number;
  readonly roots: readonly Uint8Array[];
}

export const EMPTY_FRONTIER: Frontier = { size: 0, roots: [] };

export interface CompletedNode {
  /** A complete subtree of 2^level leaves. */
  readonly level: number;
  /** It begins at leaf index × 2^level. */
  readonly index: number;
  readonly hash: Uint8Array;
}

/** Adds one leaf. `completed` hears of every subtree that became complete, the leaf itself excepted. */
export function addLeaf(
  { size, roots }: Frontier,
  leaf: Uint8Array,
  { sha256, completed }: { readonly sha256: Sha256; readonly completed?: (node: CompletedNode) => void },
): Frontier {
  const remaining = [...roots];
  let hash = leaf;
  let level = 0;
  for (let rest = size; rest % 2 === 1; rest = (rest - 1) / 2) {
    hash = hashChildren(remaining.pop() as Uint8Array, hash, sha256);
    level += 1;
    completed?.({ level, index: Math.floor(size / 2 ** level), hash });
  }
  return { size: size + 1, roots: [...remaining, hash] };
}

export function rootOf({ roots }: Frontier, sha256: Sha256): Uint8Array {
  const smallest = roots.at(-1);
  if (smallest === undefined) return emptyRoot(sha256);
  return roots.slice(0, -1).reduceRight((right, left) => hashChildren(left, right, sha256), smallest);
}

export function encodeFrontier({ roots }: Frontier): Uint8Array {
  return concat(...roots);
}

/** Undefined when the bytes cannot be the frontier of a tree of this size. */
export function decodeFrontier(size: number, bytes: Uint8Array): Frontier | undefined {
  if (!Number.isSafeInteger(size) || size < 0 || bytes.length !== bitsIn(size) * HASH_BYTES) return undefined;
  const roots = Array.from(
    { length: bytes.length / HASH_BYTES },
    (_, at) =>
      // A copy also of a `Buffer`, whose own `slice` shares its memory.
      new Uint8Array(bytes.subarray(at * HASH_BYTES, (at + 1) * HASH_BYTES)),
  );
  return { size, roots };
}

function bitsIn(size: number): number {
  let bits = 0;
  for (let rest = size; rest > 0; rest = Math.floor(rest / 2)) bits += rest % 2;
  return bits;
}

/** The largest power of two below `size`, where RFC 6962 splits a tree of two leaves or more. */
export function splitPoint(size: number): number {
  let split = 1;
  while (split * 2 < size) split *= 2;
  return split;
}
