import { closeSync, constants, openSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { type Clock, processPlace, processStart, systemClock } from '@palyra/primitives';
import { JournalError } from '../journal-error.ts';

/**
 * The operating system lets one process make the file; the others are told to come again. A file whose maker is gone
 * is taken over. Returns what lets go of it. Throws `journal.witness_store`.
 */
export function holdLock(path: string, clock: Clock = systemClock): () => void {
  if (!make(path)) takeOver(path, clock);
  return () => rmSync(path, { force: true });
}

function make(path: string): boolean {
  try {
    const file = openSync(path, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL, 0o600);
    try {
      // An empty one, on a full disk, would be nobody's and stay.
      writeOrRemove(path, file, `${process.pid} ${processStart(process.pid) ?? '-'} ${processPlace()}\n`);
    } finally {
      closeSync(file);
    }
    return true;
  } catch (cause) {
    if (cause instanceof Error && 'code' in cause && cause.code === 'EEXIST') return false;
    throw new JournalError('journal.witness_store', 'The directory of the witness cannot be written.', {
      fix: 'Look at its permissions, and whether the disk is full.',
      cause,
    });
  }
}

function writeOrRemove(path: string, file: number, text: string): void {
  try {
    writeFileSync(file, text);
  } catch (error) {
    rmSync(path, { force: true });
    throw error;
  }
}

/**
 * SECURITY: T-53 — under a second lock, or two that find the same dead holder could remove each other's new locks and
 * both cosign. That one is held for a moment only and never taken over.
 */
function takeOver(path: string, clock: Clock): void {
  if (!isAbandoned(path, clock)) throw isHeld();
  const guard = `${path}.takeover`;
  if (!make(guard)) throw isHeld();
  try {
    if (!isAbandoned(path, clock)) throw isHeld();
    rmSync(path, { force: true });
    if (!make(path)) throw isHeld();
  } finally {
    rmSync(guard, { force: true });
  }
}

const OLD_MS = 600_000;

/** Where the holder cannot be looked up, because it is elsewhere or did not get to say who it is, its age decides. */
function isAbandoned(path: string, clock: Clock): boolean {
  let text: string;
  let age: number;
  try {
    text = readFileSync(path, 'utf8');
    age = clock.now() - statSync(path).mtimeMs;
  } catch {
    // Let go of in this moment: nothing to take over, and the next try finds it free.
    return false;
  }
  const [, pid, start, where] = /^(\d{1,10}) (\d+) (.*)\n$/.exec(text) ?? [];
  if (pid === undefined || where !== processPlace()) return age > OLD_MS;
  return processStart(Number(pid)) !== start;
}

function isHeld(): JournalError {
  return new JournalError('journal.witness_store', 'Another process is witnessing this log.', {
    fix: 'Try again; when none is running, remove the files that end in .lock or .takeover from the directory of the witness.',
  });
}
