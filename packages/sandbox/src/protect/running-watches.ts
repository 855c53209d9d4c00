import { isAtOrBelow } from '../survey/survey-files.ts';
import type { ProtectedPlace } from './create-protection.ts';
import type { ProtectionMount } from './plan-protection.ts';
import type { Entry } from './read-entries.ts';

/** A command between its look before and its look after. */
export interface Running {
  readonly place: ProtectedPlace;
  /** How things were when nobody had touched them. */
  readonly before: { readonly entries: ReadonlyMap<string, Entry> };
  readonly mounts: readonly ProtectionMount[];
  /** Only for a sandbox that is made ahead: no command of its own runs. */
  readonly isPrepared: boolean;
  /** Resolved when its mounts are in place and were compared with the plan, or when it is over. */
  readonly started: { readonly promise: Promise<void>; resolve(): void };
}

export interface RunningWatches {
  add(own: Running): void;
  remove(own: Running): void;
  all(): readonly Running[];
  /** Collects all that run at any time until `all` is called, also those that have ended by then. */
  watchNeighbours(): { all(): readonly Running[] };
}

export function createRunning(): RunningWatches {
  const running = new Set<Running>();
  const collecting = new Set<Set<Running>>();
  return {
    add(own) {
      running.add(own);
      for (const neighbours of collecting) neighbours.add(own);
    },
    remove: (own) => void running.delete(own),
    all: () => [...running],
    watchNeighbours() {
      const neighbours = new Set(running);
      collecting.add(neighbours);
      return {
        all() {
          collecting.delete(neighbours);
          return [...neighbours];
        },
      };
    },
  };
}

/**
 * SECURITY: T-15, T-44 — what is there while another command runs may be that one's doing, and is about to be taken away:
 * this one must not bring it back. So the first of them says how things were, for all of them.
 */
export function trusted(
  found: ReadonlyMap<string, Entry>,
  { roots, lifted }: ProtectedPlace,
  neighbours: readonly Running[],
): Map<string, Entry> {
  const entries = new Map(found);
  // What one that runs nothing saw may be older than what the operator wrote since.
  for (const { place, before } of neighbours.filter(({ isPrepared }) => !isPrepared)) {
    const isTheirs = (path: string) => isIn(path, place.roots) && !isIn(path, place.lifted);
    for (const path of found.keys()) if (isTheirs(path) && !before.entries.has(path)) entries.delete(path);
    for (const [path, entry] of before.entries) {
      if (isIn(path, roots) && !isIn(path, lifted)) entries.set(path, entry);
    }
  }
  return entries;
}

/**
 * SECURITY: T-14, T-44 — bubblewrap finds mount points by their names, and makes those that are missing: where a command
 * that runs could put a link, it would make them elsewhere. It cannot where that command has the same mount itself, for a
 * mount point cannot be renamed. A command without mounts (Tier B) reaches elsewhere by itself.
 */
export function heldByAll(
  mounts: readonly ProtectionMount[],
  { roots }: ProtectedPlace,
  neighbours: readonly Running[],
): readonly ProtectionMount[] {
  const beside = neighbours.filter(({ place }) => place.mounts && place.roots.some((root) => isNear(root, roots)));
  return mounts.filter(({ path, root }) =>
    beside.every((other) => !isNear(root, other.place.roots) || other.mounts.some((each) => each.path === path)),
  );
}

/** Whether it holds what this one could rename. */
export function holdsMore(other: Running, { place, mounts }: Running): boolean {
  const isOpen = (path: string) => isIn(path, place.roots) && !mounts.some((each) => each.path === path);
  return place.mounts && other.mounts.some(({ path }) => isOpen(path));
}

export function isNear(root: string, roots: readonly string[]): boolean {
  return roots.some((each) => isAtOrBelow(each, root) || isAtOrBelow(root, each));
}

export function isIn(path: string, places: readonly string[]): boolean {
  return places.some((place) => isAtOrBelow(path, place));
}
