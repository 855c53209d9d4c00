import { hexOf } from '../format/bytes.ts';
import type { Sha256 } from '../format/crypto.ts';
import type { TypedEntry } from '../format/entry.ts';
import type { EntryData } from '../format/entry-kinds.ts';
import type { SignedKeyStatement } from '../format/key-statement.ts';
import type { KeyRing } from './key-ring.ts';
import { keysDigest } from './keys-digest.ts';
import type { Finding } from './report.ts';
import type { RootMemory } from './root-memory.ts';

export interface SegmentChecks {
  /** Whether it says what was so. */
  check(entry: SegmentEntry, seq: number): Finding | undefined;
  /** When the whole log was read: a log that begins late must say that it was pruned. */
  settle(): Finding | undefined;
}

export type SegmentEntry = Extract<TypedEntry, { kind: `segment.${string}` }>;

interface SegmentDeps {
  /** Where the records begin. */
  readonly first: number;
  /** Whether the log itself must say why they begin there. */
  readonly mustExplain: boolean;
  readonly roots: Pick<RootMemory, 'at'>;
  readonly keys: Pick<KeyRing, 'before'>;
  readonly sha256: Sha256;
}

/** Sizes whose root is no longer remembered are passed over: what is said about them was signed with the rest. */
export function createSegmentChecks({ first, mustExplain, roots, keys, sha256 }: SegmentDeps): SegmentChecks {
  let isExplained = !mustExplain || first === 0;
  // By their number, for they are always the first of them. SECURITY: T-39 — a file may say it at every line.
  const digests = new Map<number, string>();
  const digestOf = (statements: readonly SignedKeyStatement[]): string => {
    const digest = digests.get(statements.length) ?? keysDigest(statements, sha256);
    digests.set(statements.length, digest);
    return digest;
  };

  const rootDiffers = (size: number, root: string): boolean => {
    const known = roots.at(size);
    return known !== undefined && hexOf(known) !== root;
  };
  const checkPruned = ({ next, root, keys: digest }: EntryData<'segment.pruned'>, seq: number) => {
    if (next > seq) return wrong(seq, `says that entries up to ${next} were pruned, which came after it`);
    if (rootDiffers(next, root)) return wrong(seq, `says another root than the log had at size ${next}`);
    const statements = next < first ? undefined : keys.before(next);
    // SECURITY: T-31 — or the holder of a pruned log could leave out that a key was retired.
    if (statements !== undefined && digestOf(statements) !== digest) {
      return wrong(seq, `is about other key statements than those before entry ${next}`);
    }
    if (next === first) isExplained = true;
    return undefined;
  };

  return {
    check(entry, seq) {
      if (entry.kind === 'segment.pruned') return checkPruned(entry.data, seq);
      if (entry.data.next > seq || entry.data.first >= entry.data.next) {
        return wrong(seq, 'is about entries that were not there');
      }
      if (entry.kind === 'segment.archived' || !rootDiffers(entry.data.next, entry.data.root)) return undefined;
      return wrong(seq, `says another root than the log had at size ${entry.data.next}`);
    },
    settle() {
      if (isExplained) return undefined;
      return {
        code: 'prune_wrong',
        seq: first,
        why: `The log begins at entry ${first}, and no entry says that it was pruned.`,
      };
    },
  };
}

function wrong(seq: number, what: string): Finding {
  return { code: 'prune_wrong', seq, why: `Entry ${seq} ${what}.` };
}
