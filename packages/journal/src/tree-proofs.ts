import type { ReadQueries } from '@palyra/storage';
import { consistencyPath, inclusionPath, type Subtree } from './format/merkle-proof.ts';
import { addLeaf, EMPTY_FRONTIER, type Frontier, HASH_BYTES, hashChildren, rootOf } from './format/merkle-tree.ts';
import { JournalError } from './journal-error.ts';
import { nodeSha256 } from './node-crypto.ts';
import { within } from './store/entry-id.ts';
import { type JournalSchema, KEPT_LEVEL, TILE } from './store/journal-schema.ts';

/** Proofs about the log's tree, from its entries' hashes and the subtrees that are kept. Sizes up to the log's own. */
export interface TreeProofs {
  inclusion(seq: number, size: number): Promise<readonly Uint8Array[]>;
  /** For 0 < oldSize <= newSize. */
  consistency(oldSize: number, newSize: number): Promise<readonly Uint8Array[]>;
  root(size: number): Promise<Uint8Array>;
  frontier(size: number): Promise<Frontier>;
}

/** Throws `journal.not_found` when a hash that is needed is not there. */
export function createTreeProofs(read: ReadQueries<JournalSchema>, log: number): TreeProofs {
  const subtree = (tree: Subtree): Promise<Uint8Array> => hashOf(tree, { read, log });
  return {
    inclusion: (seq, size) => Promise.all(inclusionPath(seq, { first: 0, size }).map(subtree)),
    consistency: (oldSize, newSize) => Promise.all(consistencyPath(oldSize, newSize).map(subtree)),
    root: async (size) => rootOf(await frontierOf(size, subtree), nodeSha256),
    frontier: (size) => frontierOf(size, subtree),
  };
}

async function frontierOf(size: number, subtree: (tree: Subtree) => Promise<Uint8Array>): Promise<Frontier> {
  const roots: Uint8Array[] = [];
  let first = 0;
  for (let power = 2 ** 52; power >= 1; power /= 2) {
    if (size - first < power) continue;
    roots.push(await subtree({ first, size: power }));
    first += power;
  }
  return { size, roots };
}

interface Where {
  readonly read: ReadQueries<JournalSchema>;
  readonly log: number;
}

/** From the kept subtrees where it is made of whole ones, from the leaves below that, and split where it is neither. */
async function hashOf(tree: Subtree, where: Where): Promise<Uint8Array> {
  if (tree.size <= TILE) return leavesRoot(await leafHashes(tree, where));
  const level = Math.log2(tree.size);
  if (Number.isInteger(level)) return completeRoot(tree, level, where);
  const split = 2 ** Math.floor(Math.log2(tree.size));
  const left = await hashOf({ first: tree.first, size: split }, where);
  const right = await hashOf({ first: tree.first + split, size: tree.size - split }, where);
  return hashChildren(left, right, nodeSha256);
}

async function completeRoot(tree: Subtree, level: number, { read, log }: Where): Promise<Uint8Array> {
  const kept = level - (level % KEPT_LEVEL);
  const first = tree.first / 2 ** kept;
  const count = tree.size / 2 ** kept;
  const rows = await read
    .selectFrom('journal_nodes')
    .select('hash')
    .where('log', '=', log)
    .where('level', '=', kept)
    .where('place', '>=', first)
    .where('place', '<', first + count)
    .orderBy('place')
    .execute();
  if (rows.length !== count) throw missing();
  return leavesRoot(rows.map(({ hash }) => hash));
}

function leavesRoot(hashes: readonly Uint8Array[]): Uint8Array {
  let frontier = EMPTY_FRONTIER;
  for (const hash of hashes) frontier = addLeaf(frontier, hash, { sha256: nodeSha256 });
  return rootOf(frontier, nodeSha256);
}

/** At most a tile of them, though perhaps of two rows of tiles: subtrees that small begin at multiples of their size. */
async function leafHashes({ first, size }: Subtree, { read, log }: Where): Promise<readonly Uint8Array[]> {
  const rows = await read
    .selectFrom('journal_entries')
    .select('hash')
    .where(within(log, first, first + size))
    .orderBy('id')
    .execute();
  const pruned = size - rows.length;
  const hashes = [
    ...(pruned > 0 ? await prunedHashes({ first, size: pruned }, { read, log }) : []),
    ...rows.map(({ hash }) => hash),
  ];
  if (hashes.length !== size) throw missing();
  return hashes;
}

async function prunedHashes({ first, size }: Subtree, { read, log }: Where): Promise<readonly Uint8Array[]> {
  const tile = Math.floor(first / TILE);
  const row = await read
    .selectFrom('journal_tiles')
    .select('hashes')
    .where('log', '=', log)
    .where('tile', '=', tile)
    .executeTakeFirst();
  const start = (first - tile * TILE) * HASH_BYTES;
  const bytes = row?.hashes.slice(start, start + size * HASH_BYTES) ?? new Uint8Array();
  return Array.from({ length: bytes.length / HASH_BYTES }, (_, at) =>
    bytes.slice(at * HASH_BYTES, (at + 1) * HASH_BYTES),
  );
}

function missing(): JournalError {
  return new JournalError('journal.not_found', 'The log does not hold all the entries that this proof is about.', {
    fix: 'Run `palyra verify` on this home.',
  });
}
