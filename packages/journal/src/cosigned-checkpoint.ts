import type { ReadQueries } from '@palyra/storage';
import { bytesOfHex, concat, hexOf, uint64 } from './format/bytes.ts';
import { parseCheckpoint } from './format/checkpoint.ts';
import type { EntryData } from './format/entry-kinds.ts';
import { noteKeyId, signatureLine } from './format/signed-note.ts';
import { JournalError } from './journal-error.ts';
import { nodeSha256 } from './node-crypto.ts';
import { idOf, within } from './store/entry-id.ts';
import { type JournalSchema, ONLY_RARE } from './store/journal-schema.ts';

export interface StoredCheckpoint {
  readonly size: number;
  readonly note: string;
}

/** Throws `journal.not_found` when there is none. */
export async function newestStoredCheckpoint(read: ReadQueries<JournalSchema>, log: number): Promise<StoredCheckpoint> {
  const row = await read
    .selectFrom('journal_checkpoints')
    .select(['size', 'note'])
    .where(within(log))
    .orderBy('id', 'desc')
    .limit(1)
    .executeTakeFirst();
  if (row !== undefined) return row;
  throw new JournalError('journal.not_found', 'The log has no checkpoint.');
}

export async function storedCheckpoint(
  read: ReadQueries<JournalSchema>,
  { log, size }: { readonly log: number; readonly size: number },
): Promise<StoredCheckpoint | undefined> {
  return read
    .selectFrom('journal_checkpoints')
    .select(['size', 'note'])
    .where('id', '=', idOf(log, size))
    .executeTakeFirst();
}

/** So many cosignatures are looked through, from the newest: a log that has more recent ones is witnessed often enough. */
const LOOKED_AT = 256;

/**
 * The newest checkpoint of at least this size that somebody else cosigned, with all the cosignatures that the log knows
 * of: they are entries, because the note was signed before they came.
 */
export async function newestCosigned(
  read: ReadQueries<JournalSchema>,
  { log, covering }: { readonly log: number; readonly covering: number },
): Promise<StoredCheckpoint | undefined> {
  const rows = await read
    .selectFrom('journal_entries')
    .select('data')
    .where('kind', '=', 'checkpoint.cosigned')
    .where(ONLY_RARE)
    .where(within(log))
    .orderBy('id', 'desc')
    .limit(LOOKED_AT)
    .execute();
  const cosigned = rows.map(({ data }) => JSON.parse(data) as EntryData<'checkpoint.cosigned'>);
  const sizes = [...new Set(cosigned.map(({ size }) => size))].toSorted((left, right) => right - left);
  for (const size of sizes.filter((each) => each >= covering)) {
    const stored = await storedCheckpoint(read, { log, size });
    if (stored === undefined) continue;
    const root = hexOf(parseCheckpoint(stored.note).checkpoint.root);
    const lines = cosigned.filter((each) => each.size === size && each.root === root).map(lineOf);
    if (lines.length > 0) return { size, note: withLines(stored.note, lines) };
  }
  return undefined;
}

function lineOf({ witness, witness_key, time, signature }: EntryData<'checkpoint.cosigned'>): string {
  const publicKey = bytesOfHex(witness_key) ?? new Uint8Array();
  return signatureLine({
    name: witness,
    keyId: noteKeyId({ name: witness, type: 4, publicKey }, nodeSha256),
    signature: concat(uint64(time), bytesOfHex(signature) ?? new Uint8Array()),
  });
}

/** A witness may have cosigned the same checkpoint again, later; and the note may hold the line already. */
function withLines(note: string, lines: readonly string[]): string {
  return note + [...new Set(lines)].filter((line) => !note.includes(line)).join('');
}
