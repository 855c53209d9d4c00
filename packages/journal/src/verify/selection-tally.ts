import type { TypedEntry } from '../format/entry.ts';
import { unprovenErasures } from './check-bodies.ts';
import type { SourceBody } from './log-source.ts';
import type { LogCounts } from './report.ts';

/** What was found in a selection. */
export interface SelectionTally {
  entry(seq: number, entry: TypedEntry): void;
  attestation(): void;
  body(commitment: string, body: SourceBody): void;
  /** When all entries were seen. */
  counts(): LogCounts;
  remarks(): readonly string[];
}

/** Beyond it, a body that is said to be erased counts as left out. */
const REMEMBERED = 100_000;

/**
 * SECURITY: T-31 — a selection need not hold the entry that erased a body, and whoever made it may have written so
 * without there being one: only a body whose erasure is among the entries is called erased.
 */
export function createSelectionTally(remembered: number = REMEMBERED): SelectionTally {
  const claims = new Map<string, number>();
  const statements = new Map<string, number>();
  let entries = 0;
  let attestations = 0;
  let checked = 0;
  let leftOut = 0;
  let forgotten = 0;

  const erased = () => [...claims].filter(([commitment, by]) => statements.get(commitment) === by).length;
  const unproven = () => claims.size - erased() + forgotten;
  return {
    entry(seq, { kind, data }) {
      entries += 1;
      if (kind === 'body.erased' && statements.size < remembered) statements.set(data.body, seq);
    },
    attestation() {
      attestations += 1;
    },
    body(commitment, body) {
      if (body.kind === 'present') checked += 1;
      if (body.kind === 'left out') leftOut += 1;
      if (body.kind === 'said to be erased') forgotten += 1;
      if (body.kind !== 'erased' || body.erasedBy === undefined) return;
      if (claims.size < remembered) claims.set(commitment, body.erasedBy);
      else forgotten += 1;
    },
    counts: () => ({
      entries,
      checkpoints: 1,
      attestations,
      bodies: { checked, erased: erased(), leftOut: leftOut + unproven() },
    }),
    remarks: () => unprovenErasures(unproven()),
  };
}
