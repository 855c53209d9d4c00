import { change, type ProgramRun, rowsOf } from '@palyra/storage';
import type { Kysely } from 'kysely';
import { concat } from '../format/bytes.ts';
import type { EntryData, EntryKind } from '../format/entry-kinds.ts';
import { HASH_BYTES } from '../format/merkle-tree.ts';
import { JournalError } from '../journal-error.ts';
import { idOf, within } from './entry-id.ts';
import { type JournalSchema, type LogRow, TILE } from './journal-schema.ts';
import type { PreparedEntry } from './prepared-entry.ts';

interface Place {
  readonly log: LogRow;
  readonly seq: number;
  readonly build: Kysely<never>;
}

/**
 * What some entries do to the journal's own tables. It follows from the entry and happens with it, so neither can be
 * had without the other: no body is erased, and nothing is pruned, without a record that says so.
 */
export function* applyEntry(
  { fields: [, , kind, , data] }: PreparedEntry,
  { log, seq, build }: Place,
): ProgramRun<void> {
  const db = build as unknown as Kysely<JournalSchema>;
  const act = ACTS[kind as EntryKind];
  if (act !== undefined) yield* act(JSON.parse(data) as never, { log, seq, db });
}

/** Whether an entry does anything but stand in the log. */
export function hasAct({ fields: [, , kind] }: PreparedEntry): boolean {
  return ACTS[kind as EntryKind] !== undefined;
}

interface ActContext {
  readonly log: LogRow;
  readonly seq: number;
  readonly db: Kysely<JournalSchema>;
}

type Act = (data: never, context: ActContext) => ProgramRun<void>;

const ACTS: Partial<Record<EntryKind, Act>> = {
  *'key.changed'(data: EntryData<'key.changed'>, { log, seq, db }) {
    yield* change(db.insertInto('journal_keys').values({ log: log.number, seq, ...data }), 1);
  },

  *'body.erased'({ body }: EntryData<'body.erased'>, { log, seq, db }) {
    yield* change(
      db
        .updateTable('journal_bodies')
        .set({ salt: null, body: null, place: 'erased', erased_by: seq, erased_in: log.number })
        .where('commitment', '=', body)
        .where('place', '!=', 'erased'),
      1,
    );
  },

  *'segment.sealed'({ first, next }: EntryData<'segment.sealed'>, { log, seq, db }) {
    const values = { log: log.number, first, next, sealed_by: seq, archive: null };
    yield* change(db.insertInto('journal_segments').values(values), 1);
  },

  *'segment.archived'({ first, next, file }: EntryData<'segment.archived'>, { log, db }) {
    yield* change(
      db
        .updateTable('journal_segments')
        .set({ archive: file })
        .where('log', '=', log.number)
        .where('first', '=', first)
        .where('next', '=', next),
      1,
    );
  },

  *'segment.pruned'({ next }: EntryData<'segment.pruned'>, { log, db }) {
    yield* requireArchived(next, { log, db });
    yield* keepHashes(next, { log, db });
    yield* rowsOf(db.deleteFrom('journal_entries').where(within(log.number, 0, next)));
    yield* rowsOf(db.deleteFrom('journal_bodies').where('log', '=', log.number).where('seq', '<', next));
    yield* rowsOf(db.deleteFrom('journal_checkpoints').where(within(log.number, 0, next)));
    yield* change(db.updateTable('journal_logs').set({ pruned: next }).where('number', '=', log.number), 1);
  },
};

/** SECURITY: T-31 — what is not in an archive and under a checkpoint of its own is not deleted, whoever asks. */
function* requireArchived(next: number, { log, db }: Omit<ActContext, 'seq'>): ProgramRun<void> {
  const segments = yield* rowsOf(
    db
      .selectFrom('journal_segments')
      .select(['first', 'next', 'archive'])
      .where('log', '=', log.number)
      .where('next', '>', log.pruned)
      .where('next', '<=', next)
      .orderBy('first'),
  );
  let reached = log.pruned;
  for (const segment of segments) {
    if (segment.archive === null || segment.first !== reached) break;
    reached = segment.next;
  }
  const [checkpoint] = yield* rowsOf(
    db.selectFrom('journal_checkpoints').select('id').where('id', '=', idOf(log.number, next)),
  );
  if (reached === next && checkpoint !== undefined) return;
  throw new JournalError('journal.cannot_prune', 'What shall be pruned is not archived as whole segments.');
}

function* keepHashes(next: number, { log, db }: Omit<ActContext, 'seq'>): ProgramRun<void> {
  for (let tile = Math.floor(log.pruned / TILE); tile * TILE < next; tile += 1) {
    const [kept] = yield* rowsOf(
      db.selectFrom('journal_tiles').select('hashes').where('log', '=', log.number).where('tile', '=', tile),
    );
    const rows = yield* rowsOf(
      db
        .selectFrom('journal_entries')
        .select('hash')
        .where(within(log.number, Math.max(log.pruned, tile * TILE), Math.min(next, (tile + 1) * TILE)))
        .orderBy('id'),
    );
    // SECURITY: T-31 — no more than was pruned before: what else stands there is not of this log, and would push its hashes away.
    const before = kept?.hashes.slice(0, Math.max(log.pruned - tile * TILE, 0) * HASH_BYTES) ?? new Uint8Array();
    const hashes = concat(before, ...rows.map(({ hash }) => hash));
    yield* rowsOf(db.deleteFrom('journal_tiles').where('log', '=', log.number).where('tile', '=', tile));
    yield* change(db.insertInto('journal_tiles').values({ log: log.number, tile, hashes }), 1);
  }
}
