import type { ProtectedFile } from './file-failure.ts';
import { type Access, refuseProtected } from './protected-paths.ts';
import { closePlace, type Place, walkPath } from './walk-path.ts';
import type { Workplace } from './workplace.ts';

export interface Touched {
  readonly path: string;
  readonly access: Access;
  /** Without it a link at the end is refused by whoever wants a file. */
  readonly followLast: boolean;
}

/** Where the paths lead, held open. The caller closes them. Throws `FileFailure`, and then nothing is open. */
export function locateFiles(workplace: Workplace, touched: readonly Touched[]): readonly Place[] {
  const places: Place[] = [];
  try {
    for (const { path, followLast } of touched) places.push(walkPath(workplace.root, path, { followLast }));
    // SECURITY: T-15 — by where the path really leads, and before a byte is read: an error may quote what it found.
    refuseProtected(protectedAmong(workplace, touched, places), workplace.guard.allowProtected);
    return places;
  } catch (error) {
    for (const place of places) closePlace(workplace.root, place);
    throw error;
  }
}

/** Each by its real path, once. */
export function protectedAmong(
  { guard }: Workplace,
  touched: readonly Touched[],
  places: readonly Place[],
): readonly ProtectedFile[] {
  const found = new Map<string, ProtectedFile>();
  for (const [index, { path }] of places.entries()) {
    const reason = guard.protectedPaths.reasonFor(path, touched[index]?.access ?? 'write');
    if (reason !== undefined) found.set(path, { path, reason });
  }
  return [...found.values()];
}
