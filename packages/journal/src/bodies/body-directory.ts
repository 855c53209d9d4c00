import { constants } from 'node:fs';
import { lstat, mkdir, open } from 'node:fs/promises';
import { join } from 'node:path';
import { JournalError } from '../journal-error.ts';

/** Where bodies too large for a row are: `incoming/` while they are written, then `<first two digits>/<commitment>`. */

const COMMITMENT = /^[0-9a-f]{64}$/;

export function isCommitment(text: string): boolean {
  return COMMITMENT.test(text);
}

/** Throws `journal.body_corrupt` for a name that is no commitment. */
export function bodyPath(directory: string, commitment: string): string {
  // SECURITY: T-31 — the name may come from an edited row, and must not lead to a file elsewhere.
  if (!isCommitment(commitment)) throw new JournalError('journal.body_corrupt', 'The name of a body is no commitment.');
  return join(directory, commitment.slice(0, 2), commitment);
}

export function incomingDirectory(directory: string): string {
  return join(directory, 'incoming');
}

/** Makes the directory when it is missing; the one above it must be there. Throws as `checkBodyDirectory`. */
export async function ensureBodyDirectory(path: string): Promise<void> {
  if ((await checkBodyDirectory(path)) === 'safe') return;
  try {
    await mkdir(path, { mode: 0o700 });
  } catch (thrown) {
    if (errnoOf(thrown) !== 'EEXIST') throw thrown;
  }
  // Another process may have been quicker, and it need not have been ours.
  await checkBodyDirectory(path);
}

/** Throws `journal.body_unsafe` unless the directory is missing, or is one that this user alone can write. */
export async function checkBodyDirectory(path: string): Promise<'absent' | 'safe'> {
  const stat = await lstat(path).catch((thrown: unknown) => {
    if (errnoOf(thrown) === 'ENOENT') return undefined;
    throw thrown;
  });
  if (stat === undefined) return 'absent';
  // SECURITY: T-40 — whoever owns a link here decides where prompts and outputs go, and what is overwritten as erased.
  if (!stat.isDirectory()) throw unsafe('is a link or a file', 'Move it away; the journal makes the directory itself.');
  if (stat.uid !== process.geteuid?.()) {
    throw unsafe(`belongs to uid ${stat.uid}`, 'chown it to the user that runs palyrad.');
  }
  if ((stat.mode & 0o022) !== 0) {
    const mode = (stat.mode & 0o777).toString(8);
    throw unsafe(`can be written by others (mode ${mode})`, 'chmod 700 it, and look at what others left there.');
  }
  return 'safe';
}

/** Without it, a file that was just named or removed there may not be after a power cut. */
export async function syncDirectory(path: string): Promise<void> {
  const directory = await open(path, constants.O_RDONLY | constants.O_DIRECTORY);
  try {
    await directory.sync();
  } finally {
    await directory.close();
  }
}

export function errnoOf(thrown: unknown): string | undefined {
  return thrown instanceof Error && 'code' in thrown && typeof thrown.code === 'string' ? thrown.code : undefined;
}

function unsafe(sentence: string, fix: string): JournalError {
  return new JournalError('journal.body_unsafe', `The directory of bodies, or one in it, ${sentence}.`, { fix });
}
