import { dirname } from 'node:path';
import { type Comparison, findChanges } from './find-changes.ts';
import type { Keeper } from './keep-attempt.ts';
import { type ProtectedChange, putBack, removeEmptied } from './put-back.ts';

/** All are put back; this many are told of one by one. */
const MOST_REPORTED = 256;

/** Puts back whatever differs, and says what it was. */
export function restoreAll(comparison: Comparison, keeper: Keeper): readonly ProtectedChange[] {
  const { before, after, roots } = comparison;
  const changes = findChanges(comparison);
  const done = changes.map((change) => putBack(change, keeper));
  const isNew = (path: string) => after.entries.get(path)?.kind === 'directory' && !before.entries.has(path);
  for (const { path, root, what } of changes.toReversed()) {
    if (what === 'created' && isNew(dirname(path))) removeEmptied(root, dirname(path));
  }
  // SECURITY: T-15 — what nobody could look into must not pass for looked at.
  const unlooked = [...after.unlooked].filter((path) => !before.unlooked.has(path) || roots.includes(path));
  return reported([...merged(done), ...unlooked.map(notChecked)], roots);
}

/** Of a directory that was removed, one report instead of one for each file. */
function merged(done: readonly ProtectedChange[]): readonly ProtectedChange[] {
  const removed = done.filter(({ what }) => what === 'removed');
  const isWithin = (path: string, directory: string) => path.startsWith(`${directory}/`);
  return done
    .filter(({ path, what }) => what !== 'removed' || !removed.some((other) => isWithin(path, other.path)))
    .map((change) => {
      if (change.what !== 'removed') return change;
      const restored =
        change.restored && removed.every((other) => !isWithin(other.path, change.path) || other.restored);
      return { ...change, restored };
    });
}

function notChecked(path: string): ProtectedChange {
  const reason = 'It could not be looked into: unreadable, too large, or a name that is no text.';
  return { path, what: 'created', restored: false, reason };
}

function reported(changes: readonly ProtectedChange[], [root = '/']: readonly string[]): readonly ProtectedChange[] {
  if (changes.length <= MOST_REPORTED) return changes;
  const rest = changes.slice(MOST_REPORTED);
  const restored = rest.every((change) => change.restored);
  return [
    ...changes.slice(0, MOST_REPORTED),
    { path: root, what: 'changed', restored, reason: `And ${rest.length} more protected paths.` },
  ];
}
