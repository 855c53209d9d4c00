import { JournalError } from '../journal-error.ts';
import { equalBytes } from './bytes.ts';
import type { Sha256 } from './crypto.ts';
import { HASH_BYTES, hashChildren, splitPoint } from './merkle-tree.ts';

export interface InclusionClaim {
  readonly index: number;
  readonly size: number;
  readonly leaf: Uint8Array;
  readonly root: Uint8Array;
  readonly proof: readonly Uint8Array[];
}

/** Whether the proof shows that this leaf is the one at `index` in the tree of this size and root. */
export function provesInclusion({ index, size, leaf, root, proof }: InclusionClaim, sha256: Sha256): boolean {
  if (!isCount(index) || !isCount(size) || index >= size) return false;
  if (![leaf, root, ...proof].every(isHash)) return false;
  let hash = leaf;
  let place = index;
  let last = size - 1;
  for (const sibling of proof) {
    if (last === 0) return false;
    if (place % 2 === 1 || place === last) {
      hash = hashChildren(sibling, hash, sha256);
      // A node without a sibling goes up unchanged, as often as it has none.
      while (place % 2 === 0 && place !== 0) [place, last] = [place / 2, Math.floor(last / 2)];
    } else {
      hash = hashChildren(hash, sibling, sha256);
    }
    [place, last] = [Math.floor(place / 2), Math.floor(last / 2)];
  }
  return last === 0 && equalBytes(hash, root);
}

export interface ConsistencyClaim {
  readonly oldSize: number;
  readonly newSize: number;
  readonly oldRoot: Uint8Array;
  readonly newRoot: Uint8Array;
  readonly proof: readonly Uint8Array[];
}

/**
 * Whether the proof shows that the new tree begins with all of the old one. Of an empty tree nothing can be shown, not even
 * that it is the same: RFC 6962 has proofs from a size above 0 only (section 2.1.2).
 */
export function provesConsistency(claim: ConsistencyClaim, sha256: Sha256): boolean {
  const { oldSize, newSize, oldRoot, newRoot, proof } = claim;
  if (!isCount(oldSize) || !isCount(newSize) || oldSize > newSize || oldSize === 0) return false;
  if (oldSize === newSize) return proof.length === 0 && equalBytes(oldRoot, newRoot);
  if (![oldRoot, newRoot, ...proof].every(isHash)) return false;
  const nodes = isPowerOfTwo(oldSize) ? [oldRoot, ...proof] : [...proof];
  const first = nodes.shift();
  if (first === undefined) return false;

  let [place, last] = [oldSize - 1, newSize - 1];
  while (place % 2 === 1) [place, last] = [Math.floor(place / 2), Math.floor(last / 2)];
  let [oldHash, newHash] = [first, first];
  for (const node of nodes) {
    if (last === 0) return false;
    if (place % 2 === 1 || place === last) {
      [oldHash, newHash] = [hashChildren(node, oldHash, sha256), hashChildren(node, newHash, sha256)];
      while (place % 2 === 0 && place !== 0) [place, last] = [place / 2, Math.floor(last / 2)];
    } else {
      newHash = hashChildren(newHash, node, sha256);
    }
    [place, last] = [Math.floor(place / 2), Math.floor(last / 2)];
  }
  return last === 0 && equalBytes(oldHash, oldRoot) && equalBytes(newHash, newRoot);
}

/** The subtrees whose roots make up a proof, in its order: leaves `first` to `first + size - 1`. */
export interface Subtree {
  readonly first: number;
  readonly size: number;
}

/** PATH of RFC 6962, section 2.1.1. Throws `journal.invalid_proof` for a leaf that is not in the tree. */
export function inclusionPath(index: number, tree: Subtree): readonly Subtree[] {
  if (!isCount(index) || index < tree.first || index >= tree.first + tree.size) {
    throw new JournalError('journal.invalid_proof', 'There is no inclusion proof for a leaf outside the tree.');
  }
  return pathTo(index, tree);
}

function pathTo(index: number, tree: Subtree): readonly Subtree[] {
  if (tree.size === 1) return [];
  const split = splitPoint(tree.size);
  const left = { first: tree.first, size: split };
  const right = { first: tree.first + split, size: tree.size - split };
  return index < right.first ? [...pathTo(index, left), right] : [...pathTo(index, right), left];
}

/** PROOF of RFC 6962, section 2.1.2. Throws `journal.invalid_proof` unless 0 < oldSize <= newSize. */
export function consistencyPath(oldSize: number, newSize: number): readonly Subtree[] {
  if (!isCount(oldSize) || !isCount(newSize) || oldSize === 0 || oldSize > newSize) {
    throw new JournalError('journal.invalid_proof', 'There is no consistency proof between trees of these sizes.');
  }
  return oldSize === newSize ? [] : subproof(oldSize, { first: 0, size: newSize }, { known: true });
}

function subproof(oldSize: number, tree: Subtree, { known }: { readonly known: boolean }): readonly Subtree[] {
  if (oldSize === tree.size) return known ? [] : [tree];
  const split = splitPoint(tree.size);
  const left = { first: tree.first, size: split };
  const right = { first: tree.first + split, size: tree.size - split };
  if (oldSize <= split) return [...subproof(oldSize, left, { known }), right];
  return [...subproof(oldSize - split, right, { known: false }), left];
}

function isCount(value: number): boolean {
  return Number.isSafeInteger(value) && value >= 0;
}

/**
 * SECURITY: T-31 — children are hashed without their lengths, so bytes could move from one to the other, and part of a
 * node could be passed off as a leaf.
 */
function isHash(bytes: Uint8Array): boolean {
  return bytes.length === HASH_BYTES;
}

function isPowerOfTwo(value: number): boolean {
  return splitPoint(value) * 2 === value || value === 1;
}
