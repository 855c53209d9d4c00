import type { Logger } from '@palyra/primitives';
import { stateOf } from './anchored-files.ts';
import type { Protection } from './create-protection.ts';
import type { LeftRun } from './left-runs.ts';
import { type ProtectedChange, uncheckedIn } from './put-back.ts';

export interface MakeUpDeps {
  readonly protection: Pick<Protection, 'makeUp'>;
  readonly logger: Pick<Logger, 'error'>;
  /** Whether everything is dead that it started. */
  isOver(run: LeftRun): boolean;
}

/** The looks that a killed daemon owes, one after the other. What they found is in the log too: there is no result to be in. */
export async function makeUpRuns(
  left: readonly LeftRun[],
  { protection, logger, isOver }: MakeUpDeps,
): Promise<readonly ProtectedChange[]> {
  const all: ProtectedChange[] = [];
  for (const run of left) {
    const roots = run.snapshot?.place.roots ?? [];
    // The workspace itself is gone: there is nothing that anybody could run.
    const isThere = run.snapshot === undefined || roots.some((root) => stateOf(root)?.kind === 'directory');
    const found = isThere ? await protection.makeUp(run).catch(() => undefined) : [];
    // SECURITY: T-20 — a check that failed, or came too early, is not one that found nothing.
    const isChecked = !isThere || (found !== undefined && run.snapshot !== undefined && isOver(run));
    const changes = [...(found ?? []), ...(isChecked ? [] : [uncheckedIn(roots)])];
    for (const change of changes) {
      logger.error({ ...change }, 'A command that ran when palyrad was killed has changed a protected path.');
    }
    all.push(...changes);
    run.forget();
  }
  return all;
}
