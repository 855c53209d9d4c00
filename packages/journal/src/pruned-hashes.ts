import type { ReadQueries } from '@palyra/storage';
import { addLeaf, type CompletedNode, EMPTY_FRONTIER, type Frontier, HASH_BYTES } from './format/merkle-tree.ts';
import { nodeSha256 } from './node-crypto.ts';
import type { JournalSchema } from './store/journal-schema.ts';

export interface PrunedHashes {
  readonly read: ReadQueries<JournalSchema>;
  /** Of the log. */
  readonly number: number;
  /** Hears of every subtree that became complete. */
  readonly completed?: (node: CompletedNode) => void;
}

const TILES_AT_A_TIME = 64;

/** The tree over the hashes that pruned entries left behind; a smaller one than asked for when some are not there. */
export async function hashesUpTo(
  size: number,
  { read, number, completed }: PrunedHashes,
): Promise<{ readonly frontier: Frontier; readonly last: Uint8Array }> {
  const adding = { sha256: nodeSha256, ...(completed === undefined ? {} : { completed }) };
  let frontier = EMPTY_FRONTIER;
  let last: Uint8Array = new Uint8Array(HASH_BYTES);
  for (let tile = 0; frontier.size < size; tile += TILES_AT_A_TIME) {
    const rows = await read
      .selectFrom('journal_tiles')
      .select(['tile', 'hashes'])
      .where('log', '=', number)
      .where('tile', '>=', tile)
      .where('tile', '<', tile + TILES_AT_A_TIME)
      .orderBy('tile')
      .execute();
    // SECURITY: T-31 — proofs look for each by its number; where one is missing the log ends.
    const inOrder = rows.filter((row, place) => row.tile === tile + place);
    for (const hash of inOrder.flatMap(({ hashes }) => hashesIn(hashes)).slice(0, size - frontier.size)) {
      frontier = addLeaf(frontier, hash, adding);
      last = hash;
    }
    if (inOrder.length < TILES_AT_A_TIME) break;
  }
  return { frontier, last };
}

function hashesIn(hashes: Uint8Array): readonly Uint8Array[] {
  return Array.from({ length: Math.floor(hashes.length / HASH_BYTES) }, (_, at) =>
    hashes.slice(at * HASH_BYTES, (at + 1) * HASH_BYTES),
  );
}
