import type { TypedEntry } from '../format/entry.ts';
import type { EntryData } from '../format/entry-kinds.ts';
import { bodiesIn, snapshotsIn } from './check-bodies.ts';
import type { EntryRecord } from './log-source.ts';
import type { Checked } from './pending-checks.ts';
import { readRecord } from './read-record.ts';
import type { Finding, LogHead } from './report.ts';
import type { WalkParts } from './walk-parts.ts';

export interface EntryChecks {
  readonly count: number;
  /** The log that this one says it follows. */
  readonly follows: LogHead | undefined;
  /** What is wrong with it, as far as it can be said at once. */
  check(record: EntryRecord): Finding | undefined;
}

/** The finding of a check that is done; one that is not done yet is put with those that wait. */
export type Take = (checked: Checked) => Finding | undefined;

/** What an entry must be, beyond linking to the one before it: of its kind, in its place, and with what it names. */
export function createEntryChecks(parts: WalkParts, take: Take): EntryChecks {
  const { source, chain, subtrees, known, clock, bodies, checkSnapshot } = parts;
  const named: NamedChecks = { bodies, checkSnapshot, take };
  let count = 0;
  let follows: LogHead | undefined;
  return {
    get count() {
      return count;
    },
    get follows() {
      return follows;
    },
    check(record) {
      const { seq, time } = record.entry;
      const unlinked = chain.follow(record);
      if (unlinked !== undefined) return unlinked;
      const read = readRecord(record);
      if (read.kind === 'broken') return read.finding;
      const { entry } = read;
      const misplaced = checkFirst(entry, seq, source.rootKey);
      if (misplaced !== undefined) return misplaced;
      count += 1;
      clock.see(seq, time);
      if (entry.kind === 'log.created') follows = headNamedIn(entry.data);
      return (
        take(subtrees.look()) ??
        take(checkKind(entry, seq, parts)) ??
        checkNamed(entry, seq, named) ??
        (known.sizes.has(chain.size) ? take(known.compare(chain.size, chain.root())) : undefined)
      );
    },
  };
}

function checkFirst(entry: TypedEntry, seq: number, rootKey: string): Finding | undefined {
  if (seq !== 0) {
    if (entry.kind !== 'log.created') return undefined;
    return { code: 'entry_malformed', seq, why: `Entry ${seq} says that the log begins, which it had.` };
  }
  if (entry.kind !== 'log.created') {
    return { code: 'not_a_log', seq, why: 'The first entry does not say that a log begins.' };
  }
  if (entry.data.root_key === rootKey) return undefined;
  const why = `The log began with the root key ${entry.data.root_key}, and is kept with another.`;
  return { code: 'head_edited', seq, why };
}

function headNamedIn(data: EntryData<'log.created'>): LogHead | undefined {
  const { previous_origin: origin, previous_size: size, previous_root: root } = data;
  return origin === undefined || size === undefined || root === undefined ? undefined : { origin, size, root };
}

type KindCheck<Entry extends TypedEntry> = (entry: Entry, seq: number, parts: WalkParts) => Checked;

/** What some kinds must be beyond their form. The others are noted if they are about a call. */
const KIND_CHECKS: { readonly [Kind in TypedEntry['kind']]?: KindCheck<Extract<TypedEntry, { kind: Kind }>> } = {
  'key.changed': ({ data }, seq, { keys, source }) => keys.add({ origin: source.origin, ...data }, seq),
  attestation: ({ data }, seq, { calls }) => calls.check(data, seq),
  'body.erased'({ data }, seq, { erasures, bodies }) {
    erasures.stated(data.body, seq);
    return bodies.gone(data.body, seq);
  },
  'checkpoint.cosigned': ({ data }, _seq, { known, roots }) => known.cosigned(data, roots.at(data.size)),
  'segment.sealed': (entry, seq, { segments }) => segments.check(entry, seq),
  'segment.archived': (entry, seq, { segments }) => segments.check(entry, seq),
  'segment.pruned': (entry, seq, { segments }) => segments.check(entry, seq),
};

function checkKind(entry: TypedEntry, seq: number, parts: WalkParts): Checked {
  const check = KIND_CHECKS[entry.kind] as KindCheck<TypedEntry> | undefined;
  if (check !== undefined) return check(entry, seq, parts);
  parts.calls.note(entry, { seq, hash: parts.chain.previous });
  return undefined;
}

interface NamedChecks extends Pick<WalkParts, 'bodies' | 'checkSnapshot'> {
  readonly take: Take;
}

function checkNamed(entry: TypedEntry, seq: number, { bodies, checkSnapshot, take }: NamedChecks): Finding | undefined {
  // The bodies of an attestation are read where it is checked.
  if (entry.kind !== 'attestation') {
    for (const named of bodiesIn(entry)) {
      take(bodies.read(named, seq).then((body) => (body.kind === 'broken' ? body.finding : undefined)));
    }
  }
  for (const digest of snapshotsIn(entry)) {
    const finding = take(checkSnapshot(digest, seq));
    if (finding !== undefined) return finding;
  }
  return undefined;
}
