import type { ReadQueries } from '@palyra/storage';
import { openBodyFiles, type StoredBodyRow } from './bodies/read-body.ts';
import { JournalError } from './journal-error.ts';
import type { JournalSchema } from './store/journal-schema.ts';
import type { SourceBody } from './verify/log-source.ts';

export interface BodyReader {
  body(commitment: string): Promise<SourceBody>;
}

const BATCH = 256;
/** Larger ones are read one at a time, so that a batch of them does not fill the memory. */
const SMALL_BYTES = 64 * 1024;

interface Asked {
  readonly commitment: string;
  resolve(body: SourceBody | Promise<SourceBody>): void;
  reject(thrown: unknown): void;
}

type Row = StoredBodyRow & { readonly erased_by: number | null };

/** Bodies that are asked for together are read with one query. */
export function createBodyReader(read: ReadQueries<JournalSchema>, directory: string | undefined): BodyReader {
  const files = openBodyFiles(directory);
  let asked: Asked[] = [];
  let large: Promise<unknown> = Promise.resolve();

  const readLarge = (row: Row): Promise<SourceBody> => {
    const mine = large.then(async () => {
      const whole = row.place === 'file' ? row : await wholeRow(read, row.commitment);
      return whole === undefined ? ({ kind: 'missing' } as const) : throughFiles(whole, (of) => files.read(of));
    });
    large = mine.catch(() => undefined);
    return mine;
  };

  const flush = async () => {
    const batch = asked;
    asked = [];
    try {
      const rows = await smallRows(
        read,
        batch.map(({ commitment }) => commitment),
      );
      for (const { commitment, resolve } of batch) {
        const row = rows.get(commitment);
        resolve(row === undefined ? { kind: 'missing' } : isSmall(row) ? fromRow(row) : readLarge(row));
      }
    } catch (thrown) {
      for (const { reject } of batch) reject(thrown);
    }
  };

  return {
    body(commitment) {
      return new Promise((resolve, reject) => {
        asked.push({ commitment, resolve, reject });
        if (asked.length === 1) setImmediate(() => void flush());
        if (asked.length >= BATCH) void flush();
      });
    },
  };
}

function isSmall({ place, bytes }: Row): boolean {
  return place !== 'file' && bytes <= SMALL_BYTES;
}

/** As it is in the table; whether it is what was committed to is not for the reader to say. */
function fromRow({ place, salt, body, erased_by }: Row): SourceBody {
  if (place === 'erased') return { kind: 'erased', erasedBy: erased_by ?? undefined };
  if (salt === null || body === null) return { kind: 'missing' };
  return { kind: 'present', salt, bytes: body };
}

async function throughFiles(row: Row, readFile: (row: Row) => Promise<Uint8Array>): Promise<SourceBody> {
  if (row.place !== 'file') return fromRow(row);
  try {
    return { kind: 'present', salt: row.salt ?? new Uint8Array(), bytes: await readFile(row) };
  } catch (error) {
    if (!(error instanceof JournalError) || error.code !== 'journal.body_corrupt') throw error;
    return error.cause === undefined ? { kind: 'unreadable', why: error.message } : { kind: 'missing' };
  }
}

async function smallRows(
  read: ReadQueries<JournalSchema>,
  commitments: readonly string[],
): Promise<ReadonlyMap<string, Row>> {
  const rows = await read
    .selectFrom('journal_bodies')
    .select(['commitment', 'salt', 'place', 'bytes', 'total_bytes', 'erased_by'])
    .select(({ eb }) => eb.case().when('bytes', '<=', SMALL_BYTES).then(eb.ref('body')).end().as('body'))
    .where('commitment', 'in', [...commitments])
    .execute();
  return new Map(rows.map((row) => [row.commitment, row]));
}

async function wholeRow(read: ReadQueries<JournalSchema>, commitment: string): Promise<Row | undefined> {
  return read.selectFrom('journal_bodies').selectAll().where('commitment', '=', commitment).executeTakeFirst();
}
