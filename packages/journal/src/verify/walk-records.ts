import { checkCheckpoint } from './check-checkpoint.ts';
import { createEntryChecks, type Take } from './check-entry.ts';
import type { CheckpointRecord, LogRecord } from './log-source.ts';
import { type Checked, createPendingChecks, type PendingChecks } from './pending-checks.ts';
import type { Finding, LogHead } from './report.ts';
import type { WalkParts } from './walk-parts.ts';

/** One verification under way. */
export interface Walk extends WalkParts {
  readonly pending: PendingChecks;
  /** The size of the last checkpoint. */
  readonly signedSize: number;
  readonly follows: LogHead | undefined;
  counts(): { readonly entries: number; readonly checkpoints: number; readonly attestations: number };
  /** What is wrong with the next record as far as it can be said at once; the rest is pending. */
  check(record: LogRecord): Finding | undefined;
  remarks(): readonly string[];
}

/** Enough for the threads that check signatures to have work while the next page is read. */
const MAX_PENDING = 256;

export function createWalk(parts: WalkParts): Walk {
  const pending = createPendingChecks(MAX_PENDING);
  const { chain, roots, calls, clock } = parts;
  let position = 0;
  let checkpoints = 0;
  let signedSize = parts.first;

  const take: Take = (checked) => {
    if (!(checked instanceof Promise)) return checked;
    pending.add(position, checked);
    return undefined;
  };
  const entries = createEntryChecks(parts, take);
  return {
    ...parts,
    pending,
    get signedSize() {
      return signedSize;
    },
    get follows() {
      return entries.follows;
    },
    counts: () => ({ entries: entries.count, checkpoints, attestations: calls.counts.attestations }),
    check(record) {
      position += 1;
      if (record.kind === 'entry') {
        const finding = entries.check(record);
        // SECURITY: T-53 — what a witness saw is compared whether or not whoever holds the log kept the checkpoint of that size.
        if (finding === undefined && roots.wants(chain.size)) roots.remember(chain.size, chain.root());
        return finding;
      }
      const finding = take(checkSigned(record, signedSize, parts));
      if (finding !== undefined) return finding;
      checkpoints += 1;
      roots.remember(chain.size, chain.root());
      signedSize = chain.size;
      return undefined;
    },
    remarks: () => [
      ...absentRemarks(parts),
      ...parts.bodies.remarks(),
      ...unattestedRemarks(calls.unattested()),
      ...clock.remarks(),
    ],
  };
}

function checkSigned(record: CheckpointRecord, covered: number, parts: WalkParts): Checked {
  const { source, chain, keys, crypto, isContinued, first } = parts;
  const { size } = chain;
  const checked = checkCheckpoint(
    record,
    {
      origin: source.origin,
      size,
      root: chain.root(),
      covered,
      keys: keys.validAt('checkpoint', size),
      used: (key) => keys.used(key, size),
    },
    crypto,
  );
  if (checked instanceof Promise || checked?.code !== 'checkpoint_wrong' || !isContinued || size !== first)
    return checked;
  // Where an earlier verification ended, another root means another past.
  return { code: 'forked', why: `The log is not the one that was verified before. ${checked.why}` };
}

function absentRemarks({ source, calls }: WalkParts): readonly string[] {
  const { size } = source.base.frontier;
  const { begunBeforeBase: begun, unchecked } = calls.counts;
  return [
    ...(size > 0 ? [`Entries before ${size} are not here; only their hashes are known.`] : []),
    ...(begun > 0 ? [`${begun} attested calls began in entries that are not here.`] : []),
    ...(unchecked > 0 ? [`${unchecked} attestations were not checked: their envelopes were erased or left out.`] : []),
  ];
}

function unattestedRemarks(count: number): readonly string[] {
  return count === 0 ? [] : [`${count} calls that were begun or refused are not attested (yet).`];
}
