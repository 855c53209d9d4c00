import { equalBytes } from '../format/bytes.ts';
import type { Checkpoint } from '../format/checkpoint.ts';
import type { Sha256 } from '../format/crypto.ts';
import { provesConsistency } from '../format/merkle-proof.ts';
import type { LogSource } from './log-source.ts';

export type Agreement = 'agrees' | 'differs' | 'unknown';

/** What the log was before the place where its verification begins. */
export interface Past {
  /** Whether the log had this root at this size. `unknown` for sizes that come later, or that nothing is left of. */
  agrees(claimed: Pick<Checkpoint, 'size' | 'root'>): Promise<Agreement>;
}

interface PastDeps {
  readonly source: Pick<LogSource, 'base' | 'earlierRoot' | 'consistency'>;
  /** Where the verification begins. */
  readonly first: number;
  /** Of that size. */
  readonly root: Uint8Array;
  readonly sha256: Sha256;
}

export function createPast({ source, first, root: newRoot, sha256 }: PastDeps): Past {
  return {
    async agrees({ size, root }) {
      if (size > first || first === 0) return 'unknown';
      if (size === first) return sameOr(equalBytes(root, newRoot));
      if (size < source.base.frontier.size) {
        const earlier = await source.earlierRoot?.(size);
        return earlier === undefined ? 'unknown' : sameOr(equalBytes(root, earlier));
      }
      const proof = size === 0 ? undefined : await source.consistency?.(size, first);
      if (proof === undefined) return 'unknown';
      // SECURITY: T-53 — the store makes the proof, and cannot make one between two pasts that differ.
      return sameOr(provesConsistency({ oldSize: size, oldRoot: root, newSize: first, newRoot, proof }, sha256));
    },
  };
}

function sameOr(isSame: boolean): Agreement {
  return isSame ? 'agrees' : 'differs';
}
