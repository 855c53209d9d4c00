import type { Inspection } from '../file-tools/create-file-tools.ts';
import { touchedByPatch } from '../file-tools/worker/apply-patch.ts';
import { parsePatch } from '../file-tools/worker/parse-patch.ts';

type Inspected = Extract<Inspection, { kind: 'inspected' }>;

/**
 * Files that a patch moves to protected places. A patch shows what it changes of a file and not the rest, so nobody who
 * looks at it has seen what would run from there. Real paths; the patch was read before, so it can be.
 */
export function unseenMoves(patch: string, { paths, protectedFiles }: Inspected): readonly string[] {
  const touched = touchedByPatch({ patch }).map(({ path }) => path);
  const isProtected = new Set(protectedFiles.map(({ path }) => path));
  return parsePatch(patch).flatMap(({ action, to }) => {
    const real = action === 'rename' && to !== undefined ? paths[touched.indexOf(to)] : undefined;
    return real !== undefined && isProtected.has(real) ? [real] : [];
  });
}
