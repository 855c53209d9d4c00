import type { PlannedChange } from './commit-changes.ts';
import { FileFailure } from './file-failure.ts';
import { readWhole, sha256, type WholeFile } from './open-file.ts';
import type { FileChanges, FileState } from './tool-shapes.ts';
import type { Place } from './walk-path.ts';
import type { Workplace } from './workplace.ts';

/** What a writing tool is about to do; nothing of it is done yet. */
export interface ChangePlan {
  readonly changes: readonly PlannedChange[];
  /** The tool's answer once it is done. */
  readonly output: unknown;
  /** Directories that go when they are empty then, outermost first. */
  readonly emptied?: readonly string[];
}

/** What is at a place now; undefined when nothing is. Throws `FileFailure` for anything but a regular file. */
export type ReadCurrent = (place: Place) => WholeFile | undefined;

/** SECURITY: T-17 — counts what it reads: two hundred files of eight megabytes are refused before they fill the memory. */
export function createCurrentReader({ limits }: Workplace): ReadCurrent {
  let bytesLeft = limits.changeBytes;
  return ({ entry, path }) => {
    if (entry === undefined) return undefined;
    if (entry.stat.isSymbolicLink()) {
      const fix = 'Name the file that it leads to.';
      throw new FileFailure('file.not_regular', 'The path names a link, not a regular file.', { path, fix });
    }
    const file = readWhole(entry, path, limits.fileBytes);
    bytesLeft -= file.bytes.length;
    if (bytesLeft < 0) throw tooMuch(path);
    return file;
  };
}

/** As it will be told, with digests. */
export function describeChanges(changes: readonly PlannedChange[]): FileChanges {
  const directories = new Set<string>();
  for (const { place, after } of changes) {
    const names = place.path.split('/');
    for (const [index] of after === undefined ? [] : place.missing.entries()) {
      directories.add(names.slice(0, names.length - place.missing.length + index).join('/'));
    }
  }
  return {
    files: changes.map(({ place: { path }, before, after }) => ({
      path,
      before: stateOf(before),
      after: stateOf(after),
    })),
    directories: [...directories],
  };
}

function stateOf(file: { readonly bytes: Buffer; readonly mode: number } | undefined): FileState {
  if (file === undefined) return { kind: 'absent' };
  return { kind: 'file', sha256: sha256(file.bytes), sizeBytes: file.bytes.length, mode: file.mode };
}

/** Throws `file.too_large`: all of it is in memory, and goes to the daemon. */
export function refuseTooMuch({ limits }: Workplace, changes: readonly PlannedChange[]): void {
  const size = (file: { readonly bytes: Buffer } | undefined) => file?.bytes.length ?? 0;
  const tooLarge = changes.find(({ after }) => size(after) > limits.fileBytes);
  const total = changes.reduce((sum, { before, after }) => sum + size(before) + size(after), 0);
  if (tooLarge !== undefined || total > limits.changeBytes) throw tooMuch(tooLarge?.place.path);
}

function tooMuch(path: string | undefined): FileFailure {
  return new FileFailure('file.too_large', 'The change is larger than the limits allow.', {
    ...(path === undefined ? {} : { path }),
    fix: 'Change less at once.',
  });
}

/** A change that changes nothing is none. */
export function realChanges(changes: readonly PlannedChange[]): readonly PlannedChange[] {
  return changes.filter(({ before, after }) => {
    if (before === undefined || after === undefined) return before !== after;
    return before.mode !== after.mode || !before.bytes.equals(after.bytes);
  });
}
