import { rmdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { type Anchored, anchored, linkAnew, makeDirectory, stateOf, writeAnew } from './anchored-files.ts';
import type { FoundChange } from './find-changes.ts';
import type { Keeper } from './keep-attempt.ts';
import { isReadOnlyToUs, makeWritable, setMode } from './make-listable.ts';
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

/** SECURITY: T-20 — a check that failed is not one that found nothing. */
export function uncheckedIn([path = '/']: readonly string[]): ProtectedChange {
  return { path, what: 'changed', restored: false, reason: 'Protected paths could not be checked.' };
}

/** Makes it what it was, and keeps what was found. Does not throw: what fails is not restored, and says so. */
export function putBack(change: FoundChange, keeper: Keeper): ProtectedChange {
  const { path, root, what, reason, before, rewritten, isWhole } = change;
  const cleared = before === undefined || !isRestorable(before) ? undefined : clearWay(root, path, keeper);
  const done = anchored(
    root,
    path,
    inWritable((at) => {
      const found = stateOf(at.path);
      if (found?.kind === 'directory' && isReadOnlyToUs(found)) makeWritable(at);
      const isBoth = found?.kind === 'directory' && before?.kind === 'directory';
      const isThere = found !== undefined && (isWhole === true || !isBoth);
      if (before !== undefined && !isRestorable(before)) return { restored: false, ...keptAs(keeper.copy(at, path)) };
      const kept = keptAs(isThere ? keeper.takeAway(at, { root, path }) : undefined);
      // From here on nothing is there, which is better than what was.
      if (before !== undefined) restore(before, at);
      else if (rewritten !== undefined && found?.kind === 'file') writeAnew(at, { ...found, bytes: rewritten });
      return { restored: true, ...kept };
    }),
    before === undefined ? {} : { make: true },
  );
  return { path, what, reason, ...keptAs(cleared), ...(done ?? { restored: false }) };
}

/** SECURITY: T-15 — a directory that its owner may not write keeps nothing: it is opened, and then closed again. */
function inWritable<T>(act: (at: Anchored) => T): (at: Anchored) => T {
  return (at) => {
    const parent = { path: at.beside('.') };
    const found = stateOf(parent.path);
    if (found === undefined || !isReadOnlyToUs(found)) return act(at);
    makeWritable(parent);
    try {
      return act(at);
    } finally {
      setMode(parent, () => found.mode);
    }
  };
}

/**
 * SECURITY: T-14, T-15 — a directory above was exchanged for a link, or a file: what was in it is not put where that leads.
 * It is taken away, and the directory is made again.
 */
function clearWay(root: string, path: string, keeper: Keeper): string | undefined {
  const names = dirname(path).slice(root.length + 1);
  if (names === '') return undefined;
  let at = root;
  for (const name of names.split('/')) {
    at = `${at}/${name}`;
    const above = at;
    const kind = stateOf(above)?.kind;
    if (kind === 'directory') continue;
    if (kind === undefined) return undefined;
    return anchored(
      root,
      above,
      inWritable((it) => keeper.takeAway(it, { root, path: above })),
    );
  }
  return undefined;
}

/** Directories that came into being for what was taken away. Those with something in them stay. */
export function removeEmptied(root: string, directory: string): void {
  anchored(
    root,
    directory,
    inWritable((at) => rmdirSync(toBytes(at.path))),
  );
}

function keptAs(path: string | undefined): Pick<ProtectedChange, 'keptAs'> {
  return path === undefined ? {} : { keptAs: path };
}

function restore(before: Entry, at: Anchored): void {
  const { bytes, target } = before;
  if (bytes !== undefined) writeAnew(at, { ...before, bytes });
  else if (target !== undefined) linkAnew(at, target);
  else if (stateOf(at.path) === undefined) makeDirectory(at, before);
  else setMode(at, () => before.mode);
}
