import { createHash } from 'node:crypto';
import { constants, createReadStream } from 'node:fs';
import { lstat, mkdir, open, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { errnoOf, syncDirectory } from './bodies/body-directory.ts';
import { JournalError } from './journal-error.ts';

/** Where the archive of a segment is. */
export function archivePath(
  directory: string,
  { origin, first, next }: { readonly origin: string; readonly first: number; readonly next: number },
): string {
  const name = origin.slice(origin.lastIndexOf('/') + 1).replaceAll(/[^A-Za-z0-9._-]/g, '_');
  return join(directory, `${name}-${first}-${next}.ndjson`);
}

export interface WrittenArchive {
  /** Of the whole file, hexadecimal. */
  readonly digest: string;
  /** Gives it its name, after which it survives a power cut. */
  keep(): Promise<void>;
  discard(): Promise<void>;
  text(): AsyncIterable<string>;
}

/** Writes under another name first: what is half written is never taken for an archive. Throws `journal.not_archived`. */
export async function writeArchive(path: string, lines: AsyncIterable<string>): Promise<WrittenArchive> {
  const unfinished = `${path}.unfinished`;
  const discard = () => rm(unfinished, { force: true });
  return guarded(async () => {
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    await discard();
    const sum = createHash('sha256');
    // SECURITY: T-40 — it holds inputs and outputs: nobody else may read it, and no link of others is followed.
    const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;
    const file = await open(unfinished, flags, 0o600);
    try {
      for await (const piece of joined(lines)) {
        sum.update(piece);
        await file.appendFile(piece);
      }
      await file.sync();
    } catch (thrown) {
      await discard();
      throw thrown;
    } finally {
      await file.close();
    }
    return {
      digest: sum.digest('hex'),
      text: () => readArchive(unfinished),
      discard,
      keep: () =>
        guarded(async () => {
          await rename(unfinished, path);
          await syncDirectory(dirname(path));
        }),
    };
  });
}

/** Smaller writes would cost more than the bytes themselves. */
const PIECE_LENGTH = 256 * 1024;

async function* joined(lines: AsyncIterable<string>): AsyncGenerator<string> {
  let piece = '';
  for await (const line of lines) {
    piece += line;
    if (piece.length < PIECE_LENGTH) continue;
    yield piece;
    piece = '';
  }
  yield piece;
}

export function readArchive(path: string): AsyncIterable<string> {
  return createReadStream(path, { encoding: 'utf8' }) as AsyncIterable<string>;
}

/** Undefined when there is no such file. */
export async function digestOfArchive(path: string): Promise<string | undefined> {
  return guarded(async () => {
    try {
      if (!(await lstat(path)).isFile()) return undefined;
      const sum = createHash('sha256');
      for await (const piece of createReadStream(path)) sum.update(piece as Buffer);
      return sum.digest('hex');
    } catch (thrown) {
      if (errnoOf(thrown) === 'ENOENT') return undefined;
      throw thrown;
    }
  });
}

async function guarded<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (thrown) {
    const code = errnoOf(thrown);
    if (thrown instanceof JournalError || code === undefined) throw thrown;
    throw new JournalError('journal.not_archived', `The archive could not be written or read (${code}).`, {
      cause: thrown,
      fix: 'Check the disk of the archive directory, and that the user that runs palyrad may write there.',
    });
  }
}
