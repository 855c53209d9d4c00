import {
  closeSync,
  constants,
  fchmodSync,
  fsyncSync,
  linkSync,
  lstatSync,
  mkdirSync,
  openSync,
  renameSync,
  rmdirSync,
  type Stats,
  unlinkSync,
  writeSync,
} from 'node:fs';
import { type Effect, FileFailure, fromSystem } from './file-failure.ts';
import { at, isAbsence, openEntry, type Place, type Root } from './walk-path.ts';

/** One file: what was found, and what shall be there. */
export interface PlannedChange {
  readonly place: Place;
  readonly before: { readonly bytes: Buffer; readonly mode: number; readonly stat: Stats } | undefined;
  readonly after: { readonly bytes: Buffer; readonly mode: number } | undefined;
}

export interface CommitOptions {
  readonly root: Root;
  /** Begins every temporary name, so that what a killed worker left is found again. */
  readonly temporary: string;
}

interface Staged {
  readonly change: PlannedChange;
  /** The directory that the file is in, which exists now. */
  readonly directory: number;
  readonly temporary: string | undefined;
}

interface Stage {
  readonly options: CommitOptions;
  readonly staged: Staged[];
  /** Made for it, outermost first. */
  readonly made: { readonly parent: number; readonly name: string; readonly path: string; readonly fd: number }[];
}

/**
 * All of it or nothing. New contents are written beside their files and moved there, so nobody ever sees half a file, and
 * no other name of an old file (a hard link) is written through. Returns the directories it made. Throws `FileFailure`
 * that says what became of the files.
 */
export function commitChanges(changes: readonly PlannedChange[], options: CommitOptions): readonly string[] {
  const stage: Stage = { options, staged: [], made: [] };
  const applied: Staged[] = [];
  let current = '';
  try {
    for (const change of changes) {
      current = change.place.path;
      stageChange(stage, change);
    }
    for (const { change, directory } of stage.staged) {
      current = change.place.path;
      refuseChanged(change, directory);
    }
    // Files are deleted last: of a rename cut short both names are there, never none.
    for (const staged of stage.staged.toSorted(deletionsLast)) {
      current = staged.change.place.path;
      apply(staged);
      applied.push(staged);
    }
    for (const directory of new Set(stage.staged.map((staged) => staged.directory))) syncDirectory(directory);
    return stage.made.map(({ path }) => path);
  } catch (error) {
    const effect = rollBack(stage, applied);
    const failure = fromSystem(error, current);
    throw new FileFailure(failure.code, failure.message, { ...failure.details, effect });
  } finally {
    for (const { fd } of stage.made) closeSync(fd);
  }
}

function stageChange(stage: Stage, change: PlannedChange): void {
  const { after, place } = change;
  const directory = after === undefined ? place.directory : makeMissing(stage, place);
  const temporary = after === undefined ? undefined : `${stage.options.temporary}-${stage.staged.length}`;
  if (after !== undefined && temporary !== undefined) writeNew(directory, temporary, after);
  stage.staged.push({ change, directory, temporary });
}

/** Other files of the same request may have made some of them. */
function makeMissing(stage: Stage, { directory, missing, path }: Place): number {
  let fd = directory;
  const above = path.split('/').slice(0, -1 - missing.length);
  for (const [index, name] of missing.entries()) {
    const made = [...above, ...missing.slice(0, index + 1)].join('/');
    const known = stage.made.find((each) => each.path === made);
    fd = known?.fd ?? makeDirectory(stage, { parent: fd, name, path: made });
  }
  return fd;
}

function makeDirectory(
  stage: Stage,
  { parent, name, path }: { readonly parent: number; readonly name: string; readonly path: string },
): number {
  mkdirSync(at(parent, name), 0o755);
  const { fd, stat } = openEntry(parent, name);
  stage.made.push({ parent, name, path, fd });
  // SECURITY: T-14 — what we made may be a link by now, and nothing is made behind it.
  if (!stat.isDirectory())
    throw new FileFailure('file.changed', 'A directory was replaced by something else.', { path });
  return fd;
}

function writeNew(
  directory: number,
  name: string,
  { bytes, mode }: { readonly bytes: Buffer; readonly mode: number },
): void {
  const { O_CREAT, O_EXCL, O_WRONLY, O_NOFOLLOW } = constants;
  const fd = openSync(at(directory, name), O_CREAT | O_EXCL | O_WRONLY | O_NOFOLLOW, 0o600);
  try {
    for (let written = 0; written < bytes.length; ) written += writeSync(fd, bytes, written);
    fchmodSync(fd, mode & 0o777);
    fsyncSync(fd);
  } catch (error) {
    unlinkSync(at(directory, name));
    throw error;
  } finally {
    closeSync(fd);
  }
}

/** SECURITY: T-14 — what was read, decided and kept is what is replaced: another file at the path is left alone. */
function refuseChanged({ place, before }: PlannedChange, directory: number): void {
  const now = statOf(directory, place.name);
  const isSame = before === undefined ? now === undefined : now !== undefined && isSameFile(before.stat, now);
  if (isSame) return;
  throw new FileFailure('file.changed', 'The file changed while it was worked on.', {
    path: place.path,
    fix: 'Read it again, and repeat what you want to do.',
  });
}

function statOf(directory: number, name: string): Stats | undefined {
  try {
    return lstatSync(at(directory, name));
  } catch (error) {
    if (isAbsence(error)) return undefined;
    throw error;
  }
}

function isSameFile(one: Stats, other: Stats): boolean {
  const facts = ({ dev, ino, size, mtimeMs, ctimeMs }: Stats) => [dev, ino, size, mtimeMs, ctimeMs].join();
  return facts(one) === facts(other);
}

function deletionsLast(left: Staged, right: Staged): number {
  return Number(left.temporary === undefined) - Number(right.temporary === undefined);
}

function apply({ change, directory, temporary }: Staged): void {
  const path = at(directory, change.place.name);
  if (temporary === undefined) unlinkSync(path);
  // SECURITY: T-14 — moved over the name, never written through it: a link that took its place is replaced, not followed.
  else if (change.before !== undefined) renameSync(at(directory, temporary), path);
  else putNew(at(directory, temporary), path);
}

/** A link fails where somebody was faster; a rename would replace what they made. */
function putNew(temporary: string, path: string): void {
  try {
    linkSync(temporary, path);
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EEXIST') throw error;
    // Some file systems have no links.
    renameSync(temporary, path);
    return;
  }
  unlinkSync(temporary);
}

function syncDirectory(directory: number): void {
  const fd = openSync(`/proc/self/fd/${directory}`, constants.O_RDONLY | constants.O_DIRECTORY);
  try {
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}

/** Everything is tried, whatever fails: one file that cannot be put back must not keep the others from it. */
function rollBack(stage: Stage, applied: readonly Staged[]): Effect {
  const restored = applied.toReversed().map((staged) => succeeds(() => restore(stage, staged)));
  for (const { directory, temporary } of stage.staged) {
    if (temporary !== undefined) succeeds(() => unlinkSync(at(directory, temporary)));
  }
  for (const { parent, name } of stage.made.toReversed()) succeeds(() => rmdirSync(at(parent, name)));
  if (applied.length === 0) return 'none';
  return restored.every(Boolean) ? 'rolled_back' : 'unknown';
}

function restore({ options }: Stage, { change, directory }: Staged): void {
  const path = at(directory, change.place.name);
  if (change.before === undefined) {
    unlinkSync(path);
    return;
  }
  const back = `${options.temporary}-back`;
  writeNew(directory, back, change.before);
  renameSync(at(directory, back), path);
}

function succeeds(act: () => void): boolean {
  try {
    act();
    return true;
  } catch {
    return false;
  }
}
