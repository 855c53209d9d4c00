import type { ReadQueries } from '@palyra/storage';
import { openBodyFiles, type StoredBodyRow } from './bodies/read-body.ts';
import { JournalError } from './journal-error.ts';
import { createErasureReader, type ErasedRow, type ErasureDeps } from './read-erasures.ts';
import type { BodyRow, JournalSchema } from './store/journal-schema.ts';
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

type Row = StoredBodyRow & ErasedRow & Pick<BodyRow, 'log' | 'seq'> & { readonly has_body: unknown };

export interface BodyReaderDeps extends ErasureDeps {
  readonly directory: string | undefined;
}

/** Bodies that are asked for together are read with one query. */
export function createBodyReader({ directory, ...deps }: BodyReaderDeps): BodyReader {
  const { read, log } = deps;
  const files = openBodyFiles(directory);
  const erasures = createErasureReader(deps);
  let asked: Asked[] = [];
  let large: Promise<unknown> = Promise.resolve();

  const readLarge = (row: Row): Promise<SourceBody> => {
    const mine = large.then(async () => {
      const found = row.place === 'file' ? await fromFile(row, log, (of) => files.read(of)) : undefined;
      if (found?.kind === 'present') return found;
      // Once more: it may have been erased since its row was read.
      const whole = await wholeRow(read, row.commitment);
      if (whole?.place === 'erased') return erasedBody(whole, await erasures.bodiesFor([whole]));
      return found ?? (whole === undefined ? ({ kind: 'missing' } as const) : fromRow(whole, log));
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
      const erased = await erasures.bodiesFor([...rows.values()].filter(({ place }) => place === 'erased'));
      for (const { commitment, resolve } of batch) {
        const row = rows.get(commitment);
        if (row === undefined) resolve({ kind: 'missing' });
        else if (row.place === 'erased') resolve(erasedBody(row, erased));
        else resolve(isSmall(row) ? fromRow(row, log) : readLarge(row));
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

function erasedBody({ commitment, salt, has_body }: Row, erased: ReadonlyMap<string, SourceBody>): SourceBody {
  // SQLite says 1 for true.
  if (salt !== null || has_body) return { kind: 'kept as erased' };
  return erased.get(commitment) ?? { kind: 'missing' };
}

/** As it is in the table; whether it is what was committed to is not for the reader to say. */
function fromRow(row: Row, log: number): SourceBody {
  const { salt, body, bytes, place } = row;
  // SECURITY: T-31 — whoever asks for a body looks where it is said to be, and would not find it in another place.
  if (place !== 'row' || salt === null || body === null) return { kind: 'missing' };
  if (body.length !== bytes) return { kind: 'unreadable', why: 'it has another length than is kept beside it' };
  return present(row, log, body);
}

function present(row: Row, log: number, bytes: Uint8Array): SourceBody {
  const entry = row.log === log ? row.seq : -1;
  return { kind: 'present', salt: row.salt ?? new Uint8Array(), bytes, totalBytes: row.total_bytes, entry };
}

async function fromFile(row: Row, log: number, readFile: (row: Row) => Promise<Uint8Array>): Promise<SourceBody> {
  try {
    return present(row, log, await readFile(row));
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
    .select(['commitment', 'log', 'seq', 'salt', 'place', 'bytes', 'total_bytes', 'erased_by', 'erased_in'])
    .select(({ eb }) => eb.case().when('bytes', '<=', SMALL_BYTES).then(eb.ref('body')).end().as('body'))
    .select(({ eb }) => eb('body', 'is not', null).as('has_body'))
    .where('commitment', 'in', [...commitments])
    .execute();
  return new Map(rows.map((row) => [row.commitment, row]));
}

async function wholeRow(read: ReadQueries<JournalSchema>, commitment: string): Promise<Row | undefined> {
  return read
    .selectFrom('journal_bodies')
    .selectAll()
    .select(({ eb }) => eb('body', 'is not', null).as('has_body'))
    .where('commitment', '=', commitment)
    .executeTakeFirst();
}
