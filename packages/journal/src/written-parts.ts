import type { ReadQueries } from '@palyra/storage';
import { hexOf } from './format/bytes.ts';
import type { SignedKeyStatement } from './format/key-statement.ts';
import { HASH_BYTES } from './format/merkle-tree.ts';
import { JournalError } from './journal-error.ts';
import { idOf } from './store/entry-id.ts';
import { type EntryRow, type JournalSchema, type LogRow, TILE } from './store/journal-schema.ts';
import { createTreeProofs } from './tree-proofs.ts';
import type { ProvenEntry, WrittenEntry } from './verify/written-log.ts';

/** Parts of the log as files spell them. */

export function writtenEntry({ seq, at: time, actor, kind, version, data, hash }: EntryRow): WrittenEntry {
  return { seq, time, actor, kind, version, data, hash: hexOf(hash) };
}

/** With the proof that it is in the tree of this size. Throws `journal.not_found` when a hash is missing. */
export async function provenEntry(
  entry: WrittenEntry,
  { log, size }: { readonly log: number; readonly size: number },
  read: ReadQueries<JournalSchema>,
): Promise<ProvenEntry> {
  const previous = await hashBefore(read, { log, seq: entry.seq });
  const proof = await createTreeProofs(read, log).inclusion(entry.seq, size);
  return { ...entry, previous: hexOf(previous), proof: proof.map(hexOf) };
}

const NO_ENTRY = new Uint8Array(HASH_BYTES);

/** The hash of the entry before this one, though it may have been pruned. Throws `journal.not_found`. */
export async function hashBefore(
  read: ReadQueries<JournalSchema>,
  { log, seq }: { readonly log: number; readonly seq: number },
): Promise<Uint8Array> {
  if (seq === 0) return NO_ENTRY;
  const before = seq - 1;
  const row = await read
    .selectFrom('journal_entries')
    .select('hash')
    .where('id', '=', idOf(log, before))
    .executeTakeFirst();
  if (row !== undefined) return row.hash;
  const tile = await read
    .selectFrom('journal_tiles')
    .select('hashes')
    .where('log', '=', log)
    .where('tile', '=', Math.floor(before / TILE))
    .executeTakeFirst();
  const start = (before % TILE) * HASH_BYTES;
  const hash = tile?.hashes.slice(start, start + HASH_BYTES);
  if (hash?.length === HASH_BYTES) return hash;
  throw new JournalError('journal.not_found', `The log does not hold entry ${before}.`, {
    fix: 'Run `palyra verify` on this home.',
  });
}

/** The key statements of the entries before this one, in the order of the log. */
export async function keysBefore(
  read: ReadQueries<JournalSchema>,
  { number, origin }: Pick<LogRow, 'number' | 'origin'>,
  seq: number,
): Promise<readonly SignedKeyStatement[]> {
  const rows = await read
    .selectFrom('journal_keys')
    .select(['change', 'role', 'public_key', 'position', 'signature'])
    .where('log', '=', number)
    .where('seq', '<', seq)
    .orderBy('seq')
    .execute();
  return rows.map((row) => ({ ...(row as Omit<SignedKeyStatement, 'origin'>), origin }));
}
