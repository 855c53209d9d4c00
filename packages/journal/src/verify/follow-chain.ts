import { equalBytes, hexOf } from '../format/bytes.ts';
import type { Sha256 } from '../format/crypto.ts';
import { entryHash } from '../format/entry.ts';
import { addLeaf, type CompletedNode, type Frontier, rootOf } from '../format/merkle-tree.ts';
import { JournalError } from '../journal-error.ts';
import type { EntryRecord, LogBase } from './log-source.ts';
import type { Finding } from './report.ts';

/** The chain and the tree, up to the last entry that was good. */
export interface Chain {
  readonly size: number;
  readonly frontier: Frontier;
  /** The hash of the last entry. */
  readonly previous: Uint8Array;
  root(): Uint8Array;
  /** Goes on by one entry, or says why it cannot. */
  follow(record: EntryRecord): Finding | undefined;
}

interface Hashing {
  readonly sha256: Sha256;
  /** Hears of every subtree that became complete. */
  readonly completed?: (node: CompletedNode) => void;
}

export function createChain(origin: string, { frontier, previous }: LogBase, hashing: Hashing): Chain {
  const { sha256 } = hashing;
  return {
    get size() {
      return frontier.size;
    },
    get frontier() {
      return frontier;
    },
    get previous() {
      return previous;
    },
    root: () => rootOf(frontier, sha256),
    follow({ entry, hash: stored }) {
      const misplaced = misplacedAt(entry.seq, frontier.size);
      if (misplaced !== undefined) return misplaced;
      const { seq, time, actor, kind, version, data } = entry;
      const hash = hashOf({ origin, seq, previous, time, actor, kind, version, data }, sha256);
      if (typeof hash === 'string') return { code: 'entry_malformed', seq: entry.seq, why: hash };
      // SECURITY: T-31 — the hash covers every field and the hash before it; an entry is what it was, or the chain ends here.
      if (!(stored instanceof Uint8Array) || !equalBytes(hash, stored)) return edited(entry.seq, hash, stored);
      frontier = addLeaf(frontier, hash, hashing);
      previous = hash;
      return undefined;
    },
  };
}

function misplacedAt(seq: number, size: number): Finding | undefined {
  if (seq === size) return undefined;
  if (seq > size) {
    return { code: 'entry_missing', seq: size, why: `Entry ${size} is not there; the next one is entry ${seq}.` };
  }
  if (seq < size) {
    return { code: 'entry_repeated', seq, why: `Another entry ${seq} stands where entry ${size} should.` };
  }
  return { code: 'entry_malformed', seq: size, why: `Where entry ${size} should be, there is one without a number.` };
}

/** Of fields of any type: an edited store can hold what no entry has. */
function hashOf(entry: Parameters<typeof entryHash>[0], sha256: Sha256): Uint8Array | string {
  try {
    return entryHash(entry, sha256);
  } catch (error) {
    return error instanceof JournalError ? error.message : 'An entry has a field of another type.';
  }
}

function edited(seq: number, hash: Uint8Array, stored: unknown): Finding {
  const found = stored instanceof Uint8Array ? hexOf(stored) : 'nothing';
  return {
    code: 'entry_edited',
    seq,
    why: `Entry ${seq} has the hash ${hexOf(hash)}, and was stored with ${found}: it, or what it links to, was changed.`,
  };
}
