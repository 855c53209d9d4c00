import { FileFailure, type ProtectedFile } from './file-failure.ts';
import { type Access, refuseProtected } from './protected-paths.ts';
import { closePlace, type Place, type Root, type WalkOptions, walkPath } from './walk-path.ts';
import type { Workplace } from './workplace.ts';

export interface Touched {
  readonly path: string;
  readonly access: Access;
  /** Without it a link at the end is refused by whoever wants a file. */
  readonly followLast: boolean;
}

/** Where the paths lead, held open. The caller closes them. Throws `FileFailure`, and then nothing is open. */
export function locateFiles(workplace: Workplace, touched: readonly Touched[]): readonly Place[] {
  return locateEach(workplace, touched, ({ root }, { path, followLast }) => walkPath(root, path, { followLast }));
}

/**
 * The same, but a path that leads nowhere, or elsewhere than it says, has no place: what somebody put in the way of one file
 * keeps nobody from the others.
 */
export function locateUnmoved(workplace: Workplace, touched: readonly Touched[]): readonly (Place | undefined)[] {
  return locateEach(workplace, touched, walkUnmoved);
}

function locateEach<Found extends Place | undefined>(
  workplace: Workplace,
  touched: readonly Touched[],
  walk: (workplace: Workplace, each: Touched) => Found,
): readonly Found[] {
  const places: Found[] = [];
  try {
    for (const each of touched) places.push(walk(workplace, each));
    // SECURITY: T-15 — by where the path really leads, and before a byte is read: an error may quote what it found.
    refuseProtected(protectedAmong(workplace, touched, places), workplace.guard.allowProtected);
    return places;
  } catch (error) {
    closePlaces(workplace, places);
    throw error;
  }
}

function walkUnmoved({ root }: Workplace, { path, followLast }: Touched): Place | undefined {
  const place = tryWalk(root, path, { followLast });
  if (place === undefined || place.path === path) return place;
  closePlace(root, place);
  return undefined;
}

function tryWalk(root: Root, path: string, options: WalkOptions): Place | undefined {
  try {
    return walkPath(root, path, options);
  } catch (error) {
    // A disk that fails says nothing about the path.
    if (error instanceof FileFailure && error.code !== 'file.io_failed') return undefined;
    throw error;
  }
}

export function closePlaces({ root }: Workplace, places: readonly (Place | undefined)[]): void {
  for (const place of places) if (place !== undefined) closePlace(root, place);
}

/** Each by its real path, once. */
export function protectedAmong(
  { guard }: Workplace,
  touched: readonly Touched[],
  places: readonly (Place | undefined)[],
): readonly ProtectedFile[] {
  const found = new Map<string, ProtectedFile>();
  for (const [index, place] of places.entries()) {
    if (place === undefined) continue;
    const { path } = place;
    const reason = guard.protectedPaths.reasonFor(path, touched[index]?.access ?? 'write');
    if (reason !== undefined) found.set(path, { path, reason });
  }
  return [...found.values()];
}
