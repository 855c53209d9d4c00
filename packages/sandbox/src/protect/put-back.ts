import { rmdirSync } from 'node:fs';
import { type Anchored, anchored, linkAnew, makeDirectory, stateOf, writeAnew } from './anchored-files.ts';
import type { FoundChange } from './find-changes.ts';
import type { Keeper } from './keep-attempt.ts';
import { toBytes } from './path-bytes.ts';
import { type Entry, isRestorable } from './read-entries.ts';

/** A protected path that a command changed. */
export interface ProtectedChange {
  readonly path: string;
  readonly what: 'created' | 'changed' | 'removed' | 'replaced';
  /** Whether it is again what it was before the command; of a created one, whether it is gone. */
  readonly restored: boolean;
  /** Where that is now which was found there. Never run it. */
  readonly keptAs?: string;
  readonly reason: string;
}

/** Makes it what it was, and keeps what was found. Does not throw: what fails is not restored, and says so. */
export function putBack(change: FoundChange, keeper: Keeper): ProtectedChange {
  const { path, root, what, reason, before, rewritten, isWhole } = change;
  const done = anchored(
    root,
    path,
    (at) => {
      const found = stateOf(at.path);
      const isBoth = found?.kind === 'directory' && before?.kind === 'directory';
      const isThere = found !== undefined && (isWhole === true || !isBoth);
      if (before !== undefined && !isRestorable(before)) return { restored: false, ...keptAs(keeper.copy(at, path)) };
      const kept = keptAs(isThere ? keeper.takeAway(at, { root, path }) : undefined);
      // From here on nothing is there, which is better than what was.
      if (before !== undefined) restore(before, at);
      else if (rewritten !== undefined && found?.kind === 'file') writeAnew(at, { ...found, bytes: rewritten });
      return { restored: true, ...kept };
    },
    before === undefined ? {} : { make: true },
  );
  return { path, what, reason, ...(done ?? { restored: false }) };
}

/** Directories that came into being for what was taken away. Those with something in them stay. */
export function removeEmptied(root: string, directory: string): void {
  anchored(root, directory, (at) => rmdirSync(toBytes(at.path)));
}

function keptAs(path: string | undefined): Pick<ProtectedChange, 'keptAs'> {
  return path === undefined ? {} : { keptAs: path };
}

function restore(before: Entry, at: Anchored): void {
  const { bytes, target } = before;
  if (bytes !== undefined) writeAnew(at, { ...before, bytes });
  else if (target !== undefined) linkAnew(at, target);
  else if (stateOf(at.path) === undefined) makeDirectory(at, before);
}
