import { createHash } from 'node:crypto';
import { constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { concat } from '../format/bytes.ts';
import { SALT_BYTES } from '../format/commitment.ts';
import { JournalError } from '../journal-error.ts';
import { bodyPath, errnoOf } from './body-directory.ts';
import { MAX_BYTES } from './prepare-body.ts';

/** What the table says about one body; none of it is believed. */
export interface StoredBodyRow {
  readonly commitment: string;
  readonly salt: Uint8Array | null;
  readonly body: Uint8Array | null;
  /** `row`, `file` or `erased`. */
  readonly place: string;
  readonly bytes: number;
  readonly total_bytes: number;
}

/**
 * Both throw `journal.body_erased`, `journal.body_corrupt` when what is stored is missing or is not what was committed
 * to, and `journal.body_unreadable` when that could not be found out.
 */
export interface BodyFiles {
  read(row: StoredBodyRow): Promise<Uint8Array>;
  /** In pieces, of which none counts before the last has come without an error. */
  stream(row: StoredBodyRow): AsyncIterable<Uint8Array>;
}

/** Without a directory, as where nodes share no disk, only bodies in rows can be read. */
export function openBodyFiles(directory: string | undefined): BodyFiles {
  async function* stream(row: StoredBodyRow): AsyncGenerator<Uint8Array> {
    if (row.place === 'erased') throw new JournalError('journal.body_erased', 'The body was erased.');
    // SECURITY: T-31 — a longer salt would take bytes from the front of the body and leave the commitment as it is.
    if (row.salt?.length !== SALT_BYTES) throw corrupt('has no salt of 32 bytes');

    const sum = createHash('sha256').update(row.salt);
    for await (const piece of row.place === 'file' ? fromFile(directory, row) : fromRow(row)) {
      sum.update(piece);
      yield piece;
    }
    if (sum.digest('hex') !== row.commitment) throw corrupt('is not the one that was committed to');
  }

  return {
    stream,
    async read(row) {
      // SECURITY: T-31 — all of it would be in memory before anybody knew that it is not the body.
      if (row.bytes > MAX_BYTES) await toTheEnd(stream(row));
      const pieces: Uint8Array[] = [];
      for await (const piece of stream(row)) pieces.push(piece);
      const [only] = pieces;
      return pieces.length === 1 && only !== undefined ? only : concat(...pieces);
    },
  };
}

async function toTheEnd(pieces: AsyncIterator<Uint8Array>): Promise<void> {
  while (!(await pieces.next()).done);
}

function* fromRow({ place, body, bytes }: StoredBodyRow): Generator<Uint8Array> {
  if (place !== 'row' || body === null) throw corrupt('is missing');
  if (body.length !== bytes) throw corrupt('has another length');
  yield body;
}

const PIECE_BYTES = 1024 * 1024;

async function* fromFile(directory: string | undefined, row: StoredBodyRow): AsyncGenerator<Uint8Array> {
  if (directory === undefined) {
    throw new JournalError('journal.body_unreadable', 'The body is in a file, and this node has no bodies directory.', {
      fix: 'Ask the node that wrote it.',
    });
  }
  const file = await looked(() => openBody(bodyPath(directory, row.commitment)));
  try {
    const stat = await looked(() => file.stat());
    // Before anything is read: what somebody made of the file must not decide how much that is.
    if (!stat.isFile() || stat.size !== row.bytes) throw corrupt('has another length');
    for (let offset = 0; offset < row.bytes; ) {
      const piece = new Uint8Array(Math.min(PIECE_BYTES, row.bytes - offset));
      const { bytesRead } = await looked(() => file.read(piece, 0, piece.length, offset));
      if (bytesRead === 0) throw corrupt('has another length');
      offset += bytesRead;
      yield piece.subarray(0, bytesRead);
    }
  } finally {
    await file.close();
  }
}

function openBody(path: string): Promise<FileHandle> {
  // Not blocking, or a pipe in the place of the file would be waited for.
  return open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
}

const NOT_THERE = ['ENOENT', 'ELOOP', 'ENOTDIR', 'ENXIO'];

async function looked<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (thrown) {
    if (thrown instanceof JournalError) throw thrown;
    const code = errnoOf(thrown);
    if (code !== undefined && NOT_THERE.includes(code)) throw corrupt('is missing', thrown);
    throw new JournalError('journal.body_unreadable', `A body cannot be read (${code ?? 'unknown reason'}).`, {
      cause: thrown,
      fix: 'Check the disk of the home, and that it belongs to the user that reads.',
    });
  }
}

function corrupt(sentence: string, cause?: unknown): JournalError {
  return new JournalError('journal.body_corrupt', `A stored body ${sentence}.`, cause === undefined ? {} : { cause });
}
