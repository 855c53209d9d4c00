import { readEntry } from '../format/entry.ts';
import { JournalError } from '../journal-error.ts';
import { entriesBetween } from './find-records.ts';
import type { EntryRecord, LogSource } from './log-source.ts';
import type { Finding } from './report.ts';

/** Brings bodies that are said to be erased together with the entries that say so, which come later in the log. */
export interface Erasures {
  /** The store says that a body of entry `seq` was erased, by the entry `erasedBy` if it knows that. */
  claim(commitment: string, claim: Claim): void;
  /** The entry `seq` says that a body was erased. */
  stated(commitment: string, seq: number): void;
  /** When the whole log was read: the first body that is gone without an entry that says so. */
  settle(): Promise<Finding | undefined>;
}

interface Claim {
  readonly seq: number;
  readonly erasedBy: number | undefined;
}

/** Beyond it, statements are looked up instead of remembered. */
const REMEMBERED = 100_000;

export function createErasures(source: Pick<LogSource, 'records'>, remembered: number = REMEMBERED): Erasures {
  const claims = new Map<string, Claim>();
  const statements = new Map<string, number>();
  const settleOne = (commitment: string) => {
    const claim = claims.get(commitment);
    const by = statements.get(commitment);
    if (claim === undefined || by === undefined || (claim.erasedBy !== undefined && claim.erasedBy !== by)) return;
    claims.delete(commitment);
    statements.delete(commitment);
  };
  return {
    claim(commitment, claim) {
      claims.set(commitment, claim);
      settleOne(commitment);
    },
    stated(commitment, seq) {
      if (statements.size >= remembered && !claims.has(commitment)) return;
      statements.set(commitment, seq);
      settleOne(commitment);
    },
    async settle() {
      const left = [...claims].toSorted(([, one], [, other]) => one.seq - other.seq);
      for (const [commitment, { seq, erasedBy }] of left) {
        if (erasedBy !== undefined && (await isStatedAt(erasedBy, commitment, source))) continue;
        return {
          code: 'body_missing',
          seq,
          why: `A body of entry ${seq} is kept as erased, and no entry says that it was.`,
        };
      }
      return undefined;
    },
  };
}

async function isStatedAt(seq: number, commitment: string, source: Pick<LogSource, 'records'>): Promise<boolean> {
  for await (const record of entriesBetween(source, seq, seq + 1)) {
    const entry = typed(record);
    return entry?.kind === 'body.erased' && entry.data.body === commitment;
  }
  return false;
}

export function typed({ entry }: Pick<EntryRecord, 'entry'>): ReturnType<typeof readEntry> | undefined {
  try {
    return readEntry(entry);
  } catch (error) {
    if (error instanceof JournalError) return undefined;
    throw error;
  }
}
