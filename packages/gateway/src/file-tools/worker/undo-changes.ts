import { accessSync, constants } from 'node:fs';
import { type ChangePlan, createCurrentReader, type ReadCurrent } from './change-plan.ts';
import type { PlannedChange } from './commit-changes.ts';
import { FileFailure } from './file-failure.ts';
import type { Touched } from './locate-files.ts';
import type { FileChange, FileChanges, FileState } from './tool-shapes.ts';
import { at, type Place } from './walk-path.ts';
import type { Workplace } from './workplace.ts';

export interface UndoInput {
  readonly changes: FileChanges;
  /** `skip`: what can be put back is, and the others are named. */
  readonly conflicts: 'refuse' | 'skip';
}

export interface UndoOutput {
  readonly restored: readonly string[];
  /** They were back already. */
  readonly unchanged: readonly string[];
  readonly conflicts: readonly string[];
}

/** Contents by their digest. */
export type Blobs = ReadonlyMap<string, Buffer>;

export function touchedByUndo({ changes }: UndoInput): readonly Touched[] {
  return changes.files.map(({ path }) => ({ path, access: 'write', followLast: false }));
}

/** Puts back what was, where what was made of it is still there. Throws `FileFailure`. */
export function planUndo(
  workplace: Workplace,
  input: UndoInput,
  { places, blobs }: { readonly places: readonly (Place | undefined)[]; readonly blobs: Blobs },
): ChangePlan {
  const changes: PlannedChange[] = [];
  const read = createCurrentReader(workplace);
  const [unchanged, conflicts]: [string[], string[]] = [[], []];
  for (const [index, change] of input.changes.files.entries()) {
    const place = places[index];
    const looked = place === undefined ? undefined : look(read, place, change);
    if (place === undefined || looked?.kind === 'other' || looked === undefined) conflicts.push(change.path);
    else if (looked.kind === 'before') unchanged.push(change.path);
    else if (!mayReplace(place)) conflicts.push(change.path);
    else changes.push({ place, before: looked.file, after: contentOf(change, blobs) });
  }
  const [first] = conflicts;
  if (first !== undefined && input.conflicts === 'refuse') {
    throw new FileFailure('file.conflict', `${conflicts.length} of the files changed since, so nothing was put back.`, {
      path: first,
      fix: 'Look at them; skip them to put back the others.',
    });
  }
  const output: UndoOutput = { restored: changes.map(({ place }) => place.path), unchanged, conflicts };
  return { changes, output, emptied: input.changes.directories };
}

/** SECURITY: T-15 — or whoever takes the right to write from one directory keeps people from undoing what is in the others. */
function mayReplace({ directory }: Place): boolean {
  try {
    accessSync(at(directory, '.'), constants.W_OK | constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** Which of the two states of a change a file is in. */
export function look(
  read: ReadCurrent,
  place: Place,
  change: FileChange,
): { readonly kind: 'before' | 'after' | 'other'; readonly file: PlannedChange['before'] } {
  const file = tryCurrent(read, place);
  if (file === 'unfit') return { kind: 'other', file: undefined };
  // A link on the way leads to another file than the one that was changed.
  if (place.path !== change.path) return { kind: 'other', file };
  const is = changesMode(change) ? isStateWithMode : isState;
  if (is(change.after, file)) return { kind: 'after', file };
  return { kind: is(change.before, file) ? 'before' : 'other', file };
}

/** SECURITY: T-32 — and nothing else: what the file holds does not say whether it was done. */
function changesMode({ before, after }: FileChange): boolean {
  return before.kind === 'file' && after.kind === 'file' && before.sha256 === after.sha256;
}

/** A directory, link or huge file took its place. */
function tryCurrent(read: ReadCurrent, place: Place): ReturnType<ReadCurrent> | 'unfit' {
  try {
    return read(place);
  } catch {
    return 'unfit';
  }
}

function isState(state: FileState, file: ReturnType<ReadCurrent>): boolean {
  return state.kind === 'absent' ? file === undefined : file?.sha256 === state.sha256;
}

function isStateWithMode(state: FileState, file: ReturnType<ReadCurrent>): boolean {
  return isState(state, file) && state.kind === 'file' && state.mode === file?.mode;
}

function contentOf({ path, before }: FileChange, blobs: Blobs): PlannedChange['after'] {
  if (before.kind === 'absent') return undefined;
  const bytes = blobs.get(before.sha256);
  if (bytes !== undefined) return { bytes, mode: before.mode };
  throw new FileFailure('file.conflict', 'What the file held before was not kept.', { path });
}
