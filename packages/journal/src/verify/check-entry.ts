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
  /** In the order in which they can find something; the last ones need not be waited for. */
  check(record: EntryRecord): Generator<Checked>;
}

/** What an entry must be, beyond linking to the one before it: of its kind, in its place, and with what it names. */
export function createEntryChecks(parts: WalkParts): EntryChecks {
  const { source, chain, known, clock } = parts;
  let count = 0;
  let follows: LogHead | undefined;
  return {
    get count() {
      return count;
    },
    get follows() {
      return follows;
    },
    *check(record) {
      const { seq, time } = record.entry;
      yield chain.follow(record);
      const read = readRecord(record, source.origin);
      if (read.kind === 'broken') return yield read.finding;
      const { entry } = read;
      yield checkFirst(entry, seq, source.rootKey);
      count += 1;
      clock.see(seq, time);
      if (entry.kind === 'log.created') follows = headNamedIn(entry.data);
      yield checkKind(entry, seq, parts);
      yield* checkNamed(entry, seq, parts);
      if (known.sizes.has(chain.size)) yield known.compare(chain.size, chain.root());
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
  'body.erased'({ data }, seq, { erasures }) {
    erasures.stated(data.body, seq);
    return undefined;
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

function* checkNamed(entry: TypedEntry, seq: number, { bodies, checkSnapshot }: WalkParts): Generator<Checked> {
  // The bodies of an attestation are read where it is checked.
  if (entry.kind !== 'attestation') {
    for (const named of bodiesIn(entry)) {
      yield bodies.read(named, seq).then((body) => (body.kind === 'broken' ? body.finding : undefined));
    }
  }
  for (const digest of snapshotsIn(entry)) yield checkSnapshot(digest, seq);
}
