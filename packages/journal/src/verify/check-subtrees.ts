import { equalBytes } from '../format/bytes.ts';
import type { CompletedNode } from '../format/merkle-tree.ts';
import type { LogSource, StoredSubtrees } from './log-source.ts';
import type { Finding } from './report.ts';

/** The subtrees that a store keeps to make proofs of, against those of the entries. */
export interface SubtreeChecks {
  /** Absent: the source keeps none. */
  readonly completed?: (node: CompletedNode) => void;
  /** Looks at those that were completed since it was last asked. Undefined: there are none. */
  look(): Promise<undefined> | undefined;
  /** When the whole log was read. Not before: whatever else is wrong says more about it. */
  settle(): Promise<Finding | undefined>;
}

export function createSubtreeChecks(
  { subtrees }: Pick<LogSource, 'subtrees'>,
  { isContinued }: { readonly isContinued: boolean },
): SubtreeChecks {
  if (subtrees === undefined) return { look: () => undefined, settle: () => Promise.resolve(undefined) };
  let nodes: CompletedNode[] = [];
  let isSound = true;
  const compare = async (completed: readonly CompletedNode[]): Promise<undefined> => {
    const kept = await Promise.all(completed.map((node) => isKept(node, subtrees)));
    isSound &&= !kept.includes(false);
  };
  return {
    completed(node) {
      if (node.level % subtrees.everyLevels === 0) nodes.push(node);
    },
    look() {
      if (nodes.length === 0) return undefined;
      const completed = nodes;
      nodes = [];
      return compare(completed);
    },
    async settle() {
      isSound &&= isContinued || (await subtrees.holdBeforeBase());
      return isSound ? undefined : { code: 'head_edited', why: WHY };
    },
  };
}

const WHY = 'What is kept of the tree to make proofs with is not what the entries have, so that no proof would hold.';

/** SECURITY: T-31 — a proof made of another holds for nobody, and a witness would take the log for a fork. */
async function isKept({ level, index, hash }: CompletedNode, subtrees: StoredSubtrees): Promise<boolean> {
  const kept = await subtrees.root(level, index);
  return kept !== undefined && equalBytes(kept, hash);
}
