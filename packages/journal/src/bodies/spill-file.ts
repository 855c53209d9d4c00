import { randomBytes } from 'node:crypto';
import { constants } from 'node:fs';
import { type FileHandle, open, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { JournalError } from '../journal-error.ts';
import { bodyPath, ensureBodyDirectory, errnoOf, incomingDirectory, syncDirectory } from './body-directory.ts';

/** A body on its way to the disk. What fails is thrown as `journal.not_recorded`; `discard` then leaves nothing. */
export interface SpillFile {
  write(bytes: Uint8Array): Promise<void>;
  /** Gives it its name, after which it survives a power cut. */
  keepAs(commitment: string): Promise<void>;
  /** Never throws: there is a better error to tell, and what stays is swept later. */
  discard(): Promise<void>;
}

/** Not the process id: in a container, the next process has it too. */
const OF_THIS_PROCESS = `${randomBytes(8).toString('hex')}-`;

/** A source may pause for hours, so the age of such a file says nothing as long as its process lives. */
export function isOfThisProcess(incomingName: string): boolean {
  return incomingName.startsWith(OF_THIS_PROCESS);
}

/** Throws `journal.body_unsafe` or `journal.not_recorded`. */
export async function openSpillFile(directory: string): Promise<SpillFile> {
  const incoming = incomingDirectory(directory);
  let path = join(incoming, `${OF_THIS_PROCESS}${randomBytes(16).toString('hex')}`);
  const file = await recorded(async () => {
    await ensureBodyDirectory(directory);
    await ensureBodyDirectory(incoming);
    return createFile(path);
  });
  return {
    write: (bytes) => recorded(() => file.writeFile(bytes)),
    keepAs: (commitment) =>
      recorded(async () => {
        const target = bodyPath(directory, commitment);
        await ensureBodyDirectory(dirname(target));
        await file.datasync();
        await file.close();
        await rename(path, target);
        path = target;
        // Also those above: whoever made them, perhaps another call, may not have come to this yet.
        for (const above of [dirname(target), directory, dirname(directory)]) await syncDirectory(above);
      }),
    async discard() {
      await file.close().catch(() => {});
      await rm(path, { force: true }).catch(() => {});
    },
  };
}

function createFile(path: string): Promise<FileHandle> {
  const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;
  return open(path, flags, 0o600);
}

async function recorded<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (thrown) {
    if (thrown instanceof JournalError) throw thrown;
    const code = errnoOf(thrown);
    if (code === 'ENOSPC' || code === 'EDQUOT') {
      throw new JournalError('journal.not_recorded', 'There is no space on the disk for a body.', {
        cause: thrown,
        fix: 'Free space on the disk of the home; the journal then goes on by itself.',
      });
    }
    throw new JournalError('journal.not_recorded', `A body could not be written (${code ?? 'unknown reason'}).`, {
      cause: thrown,
      fix: 'Check the disk of the home, and that the user that runs palyrad may write there.',
    });
  }
}
