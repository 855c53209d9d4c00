import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { nodeSha256 as sha256 } from '../node-crypto.ts';
import { bytesOfHex, hexOf } from './bytes.ts';
import {
  addLeaf,
  type CompletedNode,
  decodeFrontier,
  EMPTY_FRONTIER,
  encodeFrontier,
  type Frontier,
  rootOf,
  splitPoint,
} from './merkle-tree.ts';

/** MTH of RFC 6962 as the text has it, over hashes of leaves. */
function treeHash(leaves: readonly Uint8Array[]): Uint8Array {
  const [first] = leaves;
  if (first === undefined) return sha256();
  if (leaves.length === 1) return first;
  const split = 2 ** (32 - Math.clz32(leaves.length - 1) - 1);
  return sha256(new Uint8Array([1]), treeHash(leaves.slice(0, split)), treeHash(leaves.slice(split)));
}

function leavesOf(count: number): readonly Uint8Array[] {
  return Array.from({ length: count }, (_, index) => sha256(new Uint8Array([0]), Buffer.from(`leaf ${index}`)));
}

function frontierOf(leaves: readonly Uint8Array[]): Frontier {
  return leaves.reduce<Frontier>((frontier, leaf) => addLeaf(frontier, leaf, { sha256 }), EMPTY_FRONTIER);
}

/** The leaves and roots that implementations of certificate transparency test themselves with. */
const KNOWN_LEAVES = [
  '',
  '00',
  '10',
  '2021',
  '3031',
  '40414243',
  '5051525354555657',
  '606162636465666768696a6b6c6d6e6f',
];
const KNOWN_ROOTS = [
  'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855',
  '6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d',
  'fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125',
  'aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77',
  'd37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7',
  '4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4',
  '76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef',
  'ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c',
  '5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328',
];

test.each(KNOWN_ROOTS.map((root, size) => [size, root] as const))(
  'the known tree of %d leaves has its known root',
  (size, root) => {
    const leaves = KNOWN_LEAVES.slice(0, size).map((hex) => sha256(new Uint8Array([0]), bytesOfHex(hex) as Uint8Array));
    expect(hexOf(rootOf(frontierOf(leaves), sha256))).toBe(root);
  },
);

describe('the frontier', () => {
  test('gives the root of RFC 6962 for every size', () => {
    const leaves = leavesOf(70);
    let frontier = EMPTY_FRONTIER;
    for (const [index, leaf] of leaves.entries()) {
      expect(hexOf(rootOf(frontier, sha256))).toBe(hexOf(treeHash(leaves.slice(0, index))));
      frontier = addLeaf(frontier, leaf, { sha256 });
      expect(frontier.size).toBe(index + 1);
    }
  });

  test('gives it for larger sizes too', () => {
    fc.assert(
      fc.property(fc.integer({ min: 71, max: 1500 }), (size) => {
        const leaves = leavesOf(size);
        expect(hexOf(rootOf(frontierOf(leaves), sha256))).toBe(hexOf(treeHash(leaves)));
      }),
      { numRuns: 10 },
    );
  });

  test('tells of each complete subtree once, with its place and its root', () => {
    const leaves = leavesOf(70);
    const told: CompletedNode[] = [];
    const take = { sha256, completed: (node: CompletedNode) => told.push(node) };
    leaves.reduce<Frontier>((frontier, leaf) => addLeaf(frontier, leaf, take), EMPTY_FRONTIER);
    const expected = [1, 2, 3, 4, 5, 6].flatMap((level) =>
      Array.from({ length: Math.floor(70 / 2 ** level) }, (_, index) => {
        const hash = treeHash(leaves.slice(index * 2 ** level, (index + 1) * 2 ** level));
        return { level, index, hash: hexOf(hash) };
      }),
    );
    const byPlace = (left: { level: number; index: number }, right: { level: number; index: number }) =>
      left.level - right.level || left.index - right.index;
    expect(told.map((node) => ({ ...node, hash: hexOf(node.hash) })).toSorted(byPlace)).toEqual(expected);
  });

  test('does not change when a leaf is added to it', () => {
    const before = frontierOf(leavesOf(7));
    const copy = structuredClone(before);
    addLeaf(before, sha256(), { sha256 });
    expect(before).toEqual(copy);
  });

  test('comes back from its bytes, and goes on from there', () => {
    fc.assert(
      fc.property(fc.nat({ max: 200 }), fc.nat({ max: 20 }), (size, more) => {
        const leaves = leavesOf(size + more);
        const frontier = frontierOf(leaves.slice(0, size));
        const decoded = decodeFrontier(size, encodeFrontier(frontier));
        expect(decoded).toEqual(frontier);
        const longer = leaves
          .slice(size)
          .reduce<Frontier>((grown, leaf) => addLeaf(grown, leaf, { sha256 }), decoded as Frontier);
        expect(longer).toEqual(frontierOf(leaves));
      }),
    );
  });

  test('is refused when its bytes are not as many as the size demands', () => {
    const bytes = encodeFrontier(frontierOf(leavesOf(7)));
    for (const size of [0, 1, 6, 8, 15, -1, 7.5, Number.NaN, 2 ** 53])
      expect(decodeFrontier(size, bytes)).toBeUndefined();
    expect(decodeFrontier(7, bytes.slice(1))).toBeUndefined();
    expect(decodeFrontier(7, new Uint8Array(97))).toBeUndefined();
    expect(decodeFrontier(11, bytes)?.roots.length).toBe(3);
  });

  test('shares no memory with the bytes it came from, not even those of a Buffer', () => {
    const bytes = Buffer.from(encodeFrontier(frontierOf(leavesOf(3))));
    const decoded = decodeFrontier(3, bytes) as Frontier;
    bytes.fill(0);
    expect(decoded).toEqual(frontierOf(leavesOf(3)));
  });

  test('holds beyond 2^32 leaves', () => {
    const size = 2 ** 40 + 3;
    const [large, two, one] = leavesOf(3) as [Uint8Array, Uint8Array, Uint8Array];
    const told: CompletedNode[] = [];
    const completed = (node: CompletedNode) => told.push(node);
    const grown = addLeaf({ size, roots: [large, two, one] }, one, { sha256, completed });
    const pair = treeHash([one, one]);
    const four = sha256(new Uint8Array([1]), two, pair);
    expect(grown).toEqual({ size: size + 1, roots: [large, four] });
    expect(told).toEqual([
      { level: 1, index: 2 ** 39 + 1, hash: pair },
      { level: 2, index: 2 ** 38, hash: four },
    ]);
  });
});

test('a tree is split at the largest power of two below its size', () => {
  expect([2, 3, 4, 5, 8, 9, 2 ** 40, 2 ** 40 + 1].map(splitPoint)).toEqual([1, 2, 2, 4, 4, 8, 2 ** 39, 2 ** 40]);
});
