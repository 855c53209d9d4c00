import { dirname } from 'node:path';
import { type Comparison, type FoundChange, findChanges } from './find-changes.ts';
import { isWithin } from './gather-findings.ts';
import type { Keeper } from './keep-attempt.ts';
import { type ProtectedChange, putBack, removeEmptied } from './put-back.ts';

/** All are put back; this many are told of one by one. Neither kind can crowd out the other. */
const MOST_REPORTED = 256;
const MOST_UNCHECKED = 64;

/** Puts back whatever differs, and says what it was. */
export function* restoreAll(comparison: Comparison, keeper: Keeper): Generator<undefined, readonly ProtectedChange[]> {
  const { before, after, roots } = comparison;
  const changes = yield* findChanges(comparison);
  const done: ProtectedChange[] = [];
  // Before anything is put back, which changes times as well.
  const later = new Set(changes.filter((change) => comparison.isLater?.(change) === true));
  for (const change of changes) {
    yield undefined;
    done.push(later.has(change) ? left(change) : putBack(change, keeper));
  }
  const isNew = (path: string) => after.entries.get(path)?.kind === 'directory' && !before.entries.has(path);
  for (const { path, root, what } of changes.toReversed()) {
    yield undefined;
    if (what === 'created' && isNew(dirname(path))) removeEmptied(root, dirname(path));
  }
  const { dropped, left: setAside } = yield* keeper.settle();
  // SECURITY: T-15 — what nobody could look into must not pass for looked at, however often it was told.
  const whole = new Set(changes.filter(({ isWhole }) => isWhole).map(({ path }) => path));
  const unlooked = [...[...after.unlooked].filter((path) => !whole.has(path)), ...setAside];
  const told = merged(changes, done).map((change) => withoutDropped(change, dropped));
  const unchecked = unlooked.map((path) => notChecked(path, before.unlooked.has(path) ? 'changed' : 'created'));
  const [root = '/'] = roots;
  return [...reported(unchecked, MOST_UNCHECKED, root), ...reported(told, MOST_REPORTED, root)].map((change) => ({
    ...change,
    path: change.path.toWellFormed(),
  }));
}

function left({ path, what, reason }: FoundChange): ProtectedChange {
  return { path, what, restored: false, reason: `${reason} It was changed after the command was over.` };
}

/** Of a directory that was removed or exchanged, one report instead of one for each file. */
function merged(changes: readonly FoundChange[], done: readonly ProtectedChange[]): readonly ProtectedChange[] {
  const tops = new Set(changes.filter(({ what, isWhole }) => what === 'removed' || isWhole).map(({ path }) => path));
  const failed = new Set<string>();
  for (const { path, what, restored } of done) {
    if (what !== 'removed' || restored) continue;
    for (let at = path; at.length > 1; at = dirname(at)) failed.add(at);
  }
  return done
    .filter(({ path, what }) => what !== 'removed' || !isWithin(dirname(path), tops))
    .map((change) =>
      tops.has(change.path) ? { ...change, restored: change.restored && !failed.has(change.path) } : change,
    );
}

function withoutDropped(change: ProtectedChange, dropped: ReadonlySet<string>): ProtectedChange {
  const { keptAs, ...rest } = change;
  return keptAs === undefined || !dropped.has(keptAs) ? change : rest;
}

function notChecked(path: string, what: 'created' | 'changed'): ProtectedChange {
  const reason = 'It could not be looked into: it is unreadable or too large. What is in it may have been changed.';
  return { path, what, restored: false, reason };
}

function reported(changes: readonly ProtectedChange[], most: number, root: string): readonly ProtectedChange[] {
  if (changes.length <= most) return changes;
  const rest = changes.slice(most);
  const restored = rest.every((change) => change.restored);
  return [
    ...changes.slice(0, most),
    { path: root, what: 'changed', restored, reason: `And ${rest.length} more protected paths.` },
  ];
}
