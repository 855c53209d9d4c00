import type { ReadQueries } from '@palyra/storage';
import { equalBytes } from './format/bytes.ts';
import type { CompletedNode } from './format/merkle-tree.ts';
import { hashesUpTo } from './pruned-hashes.ts';
import { type JournalSchema, KEPT_LEVEL } from './store/journal-schema.ts';
import type { StoredSubtrees } from './verify/log-source.ts';

export interface SubtreeDeps {
  readonly read: ReadQueries<JournalSchema>;
  /** Of the log. */
  readonly number: number;
  /** Up to where it was pruned. */
  readonly pruned: number;
}

export function readSubtrees({ read, number, pruned }: SubtreeDeps): StoredSubtrees {
  const root = async (level: number, place: number): Promise<Uint8Array | undefined> => {
    const row = await read
      .selectFrom('journal_nodes')
      .select('hash')
      .where('log', '=', number)
      .where('level', '=', level)
      .where('place', '=', place)
      .executeTakeFirst();
    return row?.hash;
  };
  return {
    everyLevels: KEPT_LEVEL,
    root,
    async holdBeforeBase() {
      const nodes: CompletedNode[] = [];
      await hashesUpTo(pruned, {
        read,
        number,
        completed: (node) => void (node.level % KEPT_LEVEL === 0 && nodes.push(node)),
      });
      for (const { level, index, hash } of nodes) {
        const kept = await root(level, index);
        if (kept === undefined || !equalBytes(kept, hash)) return false;
      }
      return true;
    },
  };
}
