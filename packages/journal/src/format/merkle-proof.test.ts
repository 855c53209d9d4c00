import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { nodeSha256 as sha256 } from '../node-crypto.ts';
import { concat } from './bytes.ts';
import {
  type ConsistencyClaim,
  consistencyPath,
  type InclusionClaim,
  inclusionPath,
  provesConsistency,
  provesInclusion,
  type Subtree,
} from './merkle-proof.ts';

const LEAVES: readonly Uint8Array[] = Array.from({ length: 600 }, (_, index) => sha256(Buffer.from(`leaf ${index}`)));

const known = new Map<string, Uint8Array>();

/** MTH of RFC 6962 as the text has it, remembered. */
function rootOf({ first, size }: Subtree): Uint8Array {
  const place = `${first} ${size}`;
  const hash = known.get(place) ?? treeHash({ first, size });
  known.set(place, hash);
  return hash;
}

function treeHash({ first, size }: Subtree): Uint8Array {
  if (size === 0) return sha256();
  if (size === 1) return LEAVES[first] as Uint8Array;
  const split = 2 ** (32 - Math.clz32(size - 1) - 1);
  const right = rootOf({ first: first + split, size: size - split });
  return sha256(new Uint8Array([1]), rootOf({ first, size: split }), right);
}

function inclusion(index: number, size: number): InclusionClaim {
  const tree = { first: 0, size };
  const proof = inclusionPath(index, tree).map(rootOf);
  return { index, size, leaf: LEAVES[index] as Uint8Array, root: rootOf(tree), proof };
}

function consistency(oldSize: number, newSize: number): ConsistencyClaim {
  const proof = consistencyPath(oldSize, newSize).map(rootOf);
  return {
    oldSize,
    newSize,
    oldRoot: rootOf({ first: 0, size: oldSize }),
    newRoot: rootOf({ first: 0, size: newSize }),
    proof,
  };
}

/** Everything that could be done to a proof and leaves it another one. */
function mutationsOf(proof: readonly Uint8Array[], extra: readonly Uint8Array[]): readonly (readonly Uint8Array[])[] {
  const places = [...proof.keys()];
  const mutations = [
    ...places.map((at) => proof.with(at, flipped(proof[at] as Uint8Array, at))),
    ...places.map((at) => proof.toSpliced(at, 1)),
    ...places.map((at) => proof.with(at, new Uint8Array())),
    ...places.slice(1).map((at) => swapped(proof, at)),
    ...places.slice(1).map((at) => shifted(proof, at)),
    ...[...places, proof.length].flatMap((at) => extra.map((hash) => proof.toSpliced(at, 0, hash))),
    proof.toReversed(),
  ];
  return mutations.filter((changed) => !isSame(changed, proof));
}

function flipped(bytes: Uint8Array, bit: number): Uint8Array {
  const at = (bit * 11) % bytes.length;
  return bytes.with(at, (bytes[at] as number) ^ (1 << (bit % 8)));
}

function swapped(proof: readonly Uint8Array[], at: number): readonly Uint8Array[] {
  return proof.with(at, proof[at - 1] as Uint8Array).with(at - 1, proof[at] as Uint8Array);
}

/** The same bytes one after the other, with another border between two hashes. */
function shifted(proof: readonly Uint8Array[], at: number): readonly Uint8Array[] {
  const both = concat(proof[at - 1] as Uint8Array, proof[at] as Uint8Array);
  return proof.with(at - 1, both.slice(0, 33)).with(at, both.slice(33));
}

function isSame(left: readonly Uint8Array[], right: readonly Uint8Array[]): boolean {
  return left.length === right.length && left.every((hash, at) => Buffer.compare(hash, right[at] as Uint8Array) === 0);
}

const randomHash = sha256(Buffer.from('of nothing'));

describe('inclusion', () => {
  test('is proven for every leaf of every tree, and for no other place, size, leaf or root', () => {
    for (let size = 1; size <= 70; size += 1) {
      for (let index = 0; index < size; index += 1) {
        const claim = inclusion(index, size);
        expect(provesInclusion(claim, sha256), `leaf ${index} of ${size}`).toBe(true);
        const lies: readonly InclusionClaim[] = [
          { ...claim, index: index + 1 },
          { ...claim, index: index - 1 },
          { ...claim, index: index + size },
          { ...claim, leaf: randomHash },
          { ...claim, root: randomHash },
          { ...claim, root: flipped(claim.root, index) },
          { ...claim, leaf: flipped(claim.leaf, size) },
        ];
        expect(lies.filter((lie) => provesInclusion(lie, sha256))).toEqual([]);
      }
    }
  });

  test('fails with every change of the proof', () => {
    for (let size = 1; size <= 40; size += 1) {
      for (let index = 0; index < size; index += 1) {
        const claim = inclusion(index, size);
        const lies = mutationsOf(claim.proof, [randomHash, claim.root, claim.leaf]);
        expect(lies.filter((proof) => provesInclusion({ ...claim, proof }, sha256))).toEqual([]);
      }
    }
  });

  test('holds and fails the same way in larger trees', () => {
    fc.assert(
      fc.property(fc.integer({ min: 71, max: 600 }), fc.nat(), (size, seed) => {
        const claim = inclusion(seed % size, size);
        expect(provesInclusion(claim, sha256)).toBe(true);
        const lies = mutationsOf(claim.proof, [randomHash, claim.root, claim.leaf]);
        expect(lies.filter((proof) => provesInclusion({ ...claim, proof }, sha256))).toEqual([]);
      }),
      { numRuns: 40 },
    );
  });

  test('of another size is refused when the path has another form', () => {
    // A path fixes the shape of the tree along it; sizes that share the shape need the root to tell them apart.
    for (let size = 2; size <= 70; size += 1) {
      const claim = inclusion(size - 1, size);
      for (const other of [1, size - 1, size * 2]) {
        expect(provesInclusion({ ...claim, size: other }, sha256), `${size} as ${other}`).toBe(false);
      }
    }
  });

  test('of part of a node as a leaf is refused', () => {
    const children = concat(rootOf({ first: 0, size: 1 }), rootOf({ first: 1, size: 1 }));
    const claim = { index: 0, size: 2, root: rootOf({ first: 0, size: 2 }) };
    expect(provesInclusion({ ...claim, leaf: children.slice(0, 32), proof: [children.slice(32)] }, sha256)).toBe(true);
    for (const at of [0, 1, 31, 33, 63, 64]) {
      const [leaf, proof] = [children.slice(0, at), [children.slice(at)]];
      expect(provesInclusion({ ...claim, leaf, proof }, sha256)).toBe(false);
    }
    const nothing = new Uint8Array();
    expect(provesInclusion({ index: 0, size: 1, leaf: nothing, root: nothing, proof: [] }, sha256)).toBe(false);
  });

  test.each([
    [-1, 8],
    [0.5, 8],
    [Number.NaN, 8],
    [8, 8],
    [0, 0],
    [0, -1],
    [0, 2 ** 64],
    [2 ** 64, 2 ** 65],
    [0, Number.NaN],
    [0, Number.POSITIVE_INFINITY],
  ])('of leaf %d in a tree of %d is refused', (index, size) => {
    expect(provesInclusion({ ...inclusion(0, 8), index, size }, sha256)).toBe(false);
  });

  test.each([-1, 0.5, Number.NaN, 8, 9])('has no path for leaf %d of 8', (index) => {
    expect(() => inclusionPath(index, { first: 0, size: 8 })).toThrow(
      expect.objectContaining({ code: 'journal.invalid_proof' }),
    );
    expect(() => inclusionPath(0, { first: 0, size: 0 })).toThrow(
      expect.objectContaining({ code: 'journal.invalid_proof' }),
    );
  });

  test('has a path in trees beyond 2^32 leaves', () => {
    const size = 2 ** 45 + 5;
    expect(inclusionPath(size - 1, { first: 0, size })).toEqual([
      { first: 2 ** 45, size: 4 },
      { first: 0, size: 2 ** 45 },
    ]);
    expect(inclusionPath(0, { first: 0, size }).length).toBe(46);
  });
});

describe('consistency', () => {
  test('is proven between every two sizes, and between no others', () => {
    for (let newSize = 1; newSize <= 70; newSize += 1) {
      for (let oldSize = 1; oldSize <= newSize; oldSize += 1) {
        const claim = consistency(oldSize, newSize);
        expect(provesConsistency(claim, sha256), `${oldSize} to ${newSize}`).toBe(true);
        const lies: readonly ConsistencyClaim[] = [
          { ...claim, oldRoot: randomHash },
          { ...claim, newRoot: randomHash },
          { ...claim, oldSize: 0 },
          { ...claim, oldSize: newSize + 1 },
          ...(oldSize < newSize
            ? [
                { ...claim, oldSize: oldSize + 1 },
                { ...claim, oldSize: newSize },
                { ...claim, newSize: oldSize },
                { ...claim, newSize: newSize * 2 },
                { ...claim, oldRoot: claim.newRoot, newRoot: claim.oldRoot },
                { ...claim, oldRoot: claim.newRoot },
                { ...claim, newRoot: claim.oldRoot },
              ]
            : []),
        ];
        expect(lies.filter((lie) => provesConsistency(lie, sha256))).toEqual([]);
      }
    }
  });

  test('fails with every change of the proof', () => {
    for (let newSize = 1; newSize <= 40; newSize += 1) {
      for (let oldSize = 1; oldSize <= newSize; oldSize += 1) {
        const claim = consistency(oldSize, newSize);
        const lies = mutationsOf(claim.proof, [randomHash, claim.oldRoot, claim.newRoot]);
        expect(lies.filter((proof) => provesConsistency({ ...claim, proof }, sha256))).toEqual([]);
      }
    }
  });

  test('holds and fails the same way in larger trees', () => {
    fc.assert(
      fc.property(fc.integer({ min: 71, max: 600 }), fc.nat(), (newSize, seed) => {
        const claim = consistency((seed % newSize) + 1, newSize);
        expect(provesConsistency(claim, sha256)).toBe(true);
        const lies = mutationsOf(claim.proof, [randomHash, claim.oldRoot, claim.newRoot]);
        expect(lies.filter((proof) => provesConsistency({ ...claim, proof }, sha256))).toEqual([]);
      }),
      { numRuns: 40 },
    );
  });

  test('of a log that was rewritten is not proven, whichever leaf it was', () => {
    const { oldRoot, ...claim } = consistency(21, 50);
    for (let index = 0; index < 21; index += 1) {
      const frontier = LEAVES.slice(0, 21).with(index, randomHash);
      const other = plainRoot(frontier);
      expect(other).not.toEqual(oldRoot);
      expect(provesConsistency({ ...claim, oldRoot: other }, sha256)).toBe(false);
    }
  });

  test('of part of a node as an older root is refused', () => {
    const { proof, oldRoot, ...claim } = consistency(4, 8);
    const children = concat(oldRoot, proof[0] as Uint8Array);
    const from = (at: number) => ({ ...claim, oldRoot: children.slice(0, at), proof: [children.slice(at)] });
    expect([0, 1, 31, 32, 33, 63, 64].filter((at) => provesConsistency(from(at), sha256))).toEqual([32]);
  });

  test('between equal sizes is equality of the roots, with nothing to show', () => {
    const claim = { oldSize: 3, newSize: 3, oldRoot: sha256(), newRoot: sha256(), proof: [] };
    expect(provesConsistency(claim, sha256)).toBe(true);
    expect(provesConsistency({ ...claim, proof: [randomHash] }, sha256)).toBe(false);
    expect(provesConsistency({ ...claim, newRoot: randomHash }, sha256)).toBe(false);
  });

  test.each([
    [0, 0],
    [0, 8],
    [9, 8],
    [-1, 8],
    [1.5, 8],
    [Number.NaN, 8],
    [2, 2.5],
    [1, Number.POSITIVE_INFINITY],
    [1, 2 ** 64],
    [2 ** 64, 2 ** 64],
  ])('from %d to %d is refused, and has no path', (oldSize, newSize) => {
    const claim = { ...consistency(1, 8), oldSize, newSize };
    expect(provesConsistency(claim, sha256)).toBe(false);
    expect(provesConsistency({ ...claim, oldRoot: randomHash, newRoot: randomHash, proof: [] }, sha256)).toBe(false);
    expect(() => consistencyPath(oldSize, newSize)).toThrow(expect.objectContaining({ code: 'journal.invalid_proof' }));
  });

  test('has a path between trees beyond 2^32 leaves', () => {
    const half = 2 ** 44;
    expect(consistencyPath(half, 2 * half)).toEqual([{ first: half, size: half }]);
    expect(consistencyPath(half + 1, 2 * half).length).toBe(46);
  });
});

function plainRoot(leaves: readonly Uint8Array[]): Uint8Array {
  if (leaves.length === 1) return leaves[0] as Uint8Array;
  const split = 2 ** (32 - Math.clz32(leaves.length - 1) - 1);
  return sha256(new Uint8Array([1]), plainRoot(leaves.slice(0, split)), plainRoot(leaves.slice(split)));
}
