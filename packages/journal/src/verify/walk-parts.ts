import type { VerifyCrypto } from '../format/crypto.ts';
import { type AttestedCalls, createAttestedCalls } from './attested-calls.ts';
import type { Beginning } from './begin-walk.ts';
import { type BodyChecks, createBodyChecks } from './check-bodies.ts';
import { createErasures, type Erasures } from './check-erasures.ts';
import { createSegmentChecks, type SegmentChecks } from './check-segments.ts';
import { createSnapshotChecks } from './check-snapshots.ts';
import { createSubtreeChecks, type SubtreeChecks } from './check-subtrees.ts';
import { createPast } from './compare-past.ts';
import { type Chain, createChain } from './follow-chain.ts';
import { createKeyRing, type KeyRing } from './key-ring.ts';
import { createKnownCheckpoints, type KnownCheckpoints } from './known-checkpoints.ts';
import type { LogSource } from './log-source.ts';
import type { Checked } from './pending-checks.ts';
import type { VerifyPins } from './report.ts';
import { createRootMemory, type RootMemory } from './root-memory.ts';
import { type ClockWatch, createClockWatch } from './watch-clock.ts';

/** What one verification knows of a log so far, each part of its own. */
export interface WalkParts {
  readonly source: LogSource;
  readonly crypto: VerifyCrypto;
  /** Where it begins. */
  readonly first: number;
  /** Whether it goes on from an earlier verification. */
  readonly isContinued: boolean;
  readonly chain: Chain;
  readonly subtrees: SubtreeChecks;
  readonly keys: KeyRing;
  readonly known: KnownCheckpoints;
  readonly roots: RootMemory;
  readonly segments: SegmentChecks;
  readonly erasures: Erasures;
  readonly bodies: BodyChecks;
  readonly checkSnapshot: (digest: string, seq: number) => Checked;
  readonly calls: AttestedCalls;
  readonly clock: ClockWatch;
}

export interface WalkOptions {
  readonly crypto: VerifyCrypto;
  readonly pins: VerifyPins;
  readonly beginning: Exclude<Beginning, { kind: 'broken' }>;
  /** Whose roots are to be remembered. */
  readonly cosignedSizes: readonly number[];
}

export function createWalkParts(source: LogSource, { crypto, pins, beginning, cosignedSizes }: WalkOptions): WalkParts {
  const { sha256 } = crypto;
  const first = beginning.base.frontier.size;
  const isContinued = beginning.kind === 'continued';
  const subtrees = createSubtreeChecks(source, { isContinued });
  const { completed } = subtrees;
  const chain = createChain(source.origin, beginning.base, {
    sha256,
    ...(completed === undefined ? {} : { completed }),
  });
  const roots = createRootMemory({ wanted: cosignedSizes });
  if (first > 0) roots.remember(first, chain.root());
  const past = createPast({ source, first, root: chain.root(), sha256 });
  const keys = createKeyRing({ rootKey: beginning.rootKey, crypto, known: beginning.keys, first });
  const erasures = createErasures(source);
  const bodies = createBodyChecks({ source, erasures, sha256 });
  return {
    source,
    crypto,
    first,
    isContinued,
    chain,
    subtrees,
    roots,
    keys,
    erasures,
    bodies,
    known: createKnownCheckpoints({ origin: source.origin, pins, crypto, past, earlier: beginning.witnessed }),
    segments: createSegmentChecks({ first, mustExplain: !isContinued, roots, keys, sha256 }),
    checkSnapshot: createSnapshotChecks(source, sha256),
    calls: createAttestedCalls({ source, first, keys, bodies, crypto }),
    clock: createClockWatch(),
  };
}
