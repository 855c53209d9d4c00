import { unlinkSync } from 'node:fs';
import { createCurrentReader } from './change-plan.ts';
import { removeEmptied } from './perform-change.ts';
import type { SettleOutput } from './protocol.ts';
import type { FileChange, FileChanges } from './tool-shapes.ts';
import { look } from './undo-changes.ts';
import { at, closePlace, walkPath } from './walk-path.ts';
import type { Workplace } from './workplace.ts';

/** How each file of a change that was cut short is, and nothing half-written beside it. */
export function settleChanges(workplace: Workplace, changes: FileChanges, temporary: string): SettleOutput {
  const states = changes.files.map((change, index) =>
    settleFile(workplace, change, [`${temporary}-${index}`, `${temporary}-back`]),
  );
  if (states.every((state) => state === 'before')) removeEmptied(workplace.root, changes.directories);
  return { states };
}

function settleFile(
  workplace: Workplace,
  change: FileChange,
  leftovers: readonly string[],
): SettleOutput['states'][number] {
  const { root } = workplace;
  try {
    const place = walkPath(root, change.path, { followLast: false });
    try {
      for (const name of place.missing.length === 0 ? leftovers : []) remove(place.directory, name);
      return look(createCurrentReader(workplace), place, change).kind;
    } finally {
      closePlace(root, place);
    }
  } catch {
    return 'other';
  }
}

function remove(directory: number, name: string): void {
  try {
    unlinkSync(at(directory, name));
  } catch {
    // Most are not there.
  }
}
