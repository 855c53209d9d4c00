import type { ReadQueries } from '@palyra/storage';
import { bytesOfHex, concat, hexOf, uint64 } from './format/bytes.ts';
import { parseCheckpoint } from './format/checkpoint.ts';
import type { EntryData } from './format/entry-kinds.ts';
import { MAX_SIGNATURES, noteKeyId, signatureLine } from './format/signed-note.ts';
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
  const cosigned = rows.map(({ data }) => JSON.parse(data) as Cosigned);
  const sizes = [...new Set(cosigned.map(({ size }) => size))].toSorted((left, right) => right - left);
  for (const size of sizes.filter((each) => each >= covering)) {
    const stored = await storedCheckpoint(read, { log, size });
    if (stored === undefined) continue;
    const { note, checkpoint } = parseCheckpoint(stored.note);
    const root = hexOf(checkpoint.root);
    const lines = newestOfEachFirst(cosigned.filter((each) => each.size === size && each.root === root)).map(lineOf);
    const most = MAX_SIGNATURES - note.signatures.length;
    if (lines.length > 0) return { size, note: withLines(stored.note, lines, most) };
  }
  return undefined;
}

type Cosigned = EntryData<'checkpoint.cosigned'>;

/** Of those that come newest first: a witness that cosigned often must not take the place of another one. */
function newestOfEachFirst(cosigned: readonly Cosigned[]): readonly Cosigned[] {
  const newest = new Map<string, Cosigned>();
  for (const each of cosigned) {
    if (!newest.has(each.witness_key)) newest.set(each.witness_key, each);
  }
  return [...new Set([...newest.values(), ...cosigned])];
}

function lineOf({ witness, witness_key, time, signature }: Cosigned): string {
  const publicKey = bytesOfHex(witness_key) ?? new Uint8Array();
  return signatureLine({
    name: witness,
    keyId: noteKeyId({ name: witness, type: 4, publicKey }, nodeSha256),
    signature: concat(uint64(time), bytesOfHex(signature) ?? new Uint8Array()),
  });
}

/**
 * A witness may have cosigned the same checkpoint again, later; and the note may hold the line already. More than a note may
 * have, and nobody could read it.
 */
function withLines(note: string, lines: readonly string[], most: number): string {
  const added = [...new Set(lines)].filter((line) => !note.includes(line));
  return note + added.slice(0, most).join('');
}
