import { constants } from 'node:fs';
import { type FileHandle, open, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { JournalError } from '../journal-error.ts';
import { bodyPath, errnoOf, syncDirectory } from './body-directory.ts';

/**
 * Overwrites the file and removes it, durably; one that is gone already is fine. Throws `journal.not_erased`. A disk that
 * writes elsewhere than it was told, as flash and copy-on-write file systems do, may keep the old bytes for a while.
 */
export function eraseBodyFile(directory: string, commitment: string): Promise<void> {
  return eraseFile(bodyPath(directory, commitment));
}

/** As `eraseBodyFile`, for a file that may have no name yet. */
export async function eraseFile(path: string): Promise<void> {
  try {
    const file = await openIfThere(path);
    if (file === undefined) return;
    try {
      // SECURITY: T-54 — unlinking alone leaves the bytes on the disk, and whole under any other name of the file.
      await fillWithZeros(file);
      await file.datasync();
    } finally {
      await file.close();
    }
    // By force, because somebody else may be erasing it too.
    await rm(path, { force: true });
    await syncDirectory(dirname(path));
  } catch (thrown) {
    throw new JournalError('journal.not_erased', `A body could not be erased (${errnoOf(thrown) ?? 'not a file'}).`, {
      cause: thrown,
      fix: 'Check the disk of the home and its permissions, then erase the body again.',
    });
  }
}

async function openIfThere(path: string): Promise<FileHandle | undefined> {
  try {
    return await open(path, constants.O_WRONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch (thrown) {
    if (errnoOf(thrown) === 'ENOENT') return undefined;
    throw thrown;
  }
}

const ZEROS = new Uint8Array(64 * 1024);

async function fillWithZeros(file: FileHandle): Promise<void> {
  const stat = await file.stat();
  if (!stat.isFile()) throw new Error('It is not a file.');
  for (let offset = 0; offset < stat.size; ) {
    const { bytesWritten } = await file.write(ZEROS, 0, Math.min(ZEROS.length, stat.size - offset), offset);
    offset += bytesWritten;
  }
}
