import { lstatSync } from 'node:fs';
import { isDeepStrictEqual } from 'node:util';
import type { Clock } from '@palyra/primitives';
import type { SandboxProfile } from '@palyra/sandbox';
import type { Borrowed, WorkerPool } from './worker-pool.ts';

/** A worker that waits for one call. Given back when it is disposed of, unless it was taken. */
export interface ReadyWorker extends Disposable {
  /** Undefined when there is none, or none any more for the box that is asked for now. */
  take(profile: SandboxProfile): Promise<Borrowed | undefined>;
}

export interface ReadyWorkerDeps {
  readonly pool: Pick<WorkerPool, 'borrowIdle'>;
  readonly clock: Pick<Clock, 'now'>;
}

/** Several times what it takes to record an intent. Whoever waited longer for that does not mind a look. */
const BELIEVED_MS = 100;

/**
 * SECURITY: T-14, T-44 — it is chosen before its call is recorded and used after. In between the workspace can be swapped and
 * the operator can want another box: that is looked at again, and the rest of the box is believed for a moment only.
 */
export function readyWorker(profile: SandboxProfile, { pool, clock }: ReadyWorkerDeps): ReadyWorker {
  const { root } = profile.workspace;
  // Before the box is looked at: a directory that comes later is another one, here or there.
  const [chosenAt, directory] = [clock.now(), identityOf(root)];
  const borrowing = pool.borrowIdle(profile).catch(() => undefined);
  let isTaken = false;

  const isAsChosen = (asked: SandboxProfile): boolean => {
    const age = clock.now() - chosenAt;
    const isBelieved = age >= 0 && age < BELIEVED_MS;
    return isBelieved && directory !== undefined && identityOf(root) === directory && isDeepStrictEqual(asked, profile);
  };
  return {
    async take(asked) {
      isTaken = true;
      const borrowed = await borrowing;
      if (borrowed?.kind !== 'worker' || (borrowed.worker.isAlive() && isAsChosen(asked))) return borrowed;
      await borrowed.giveBack();
      return undefined;
    },
    [Symbol.dispose]() {
      if (isTaken) return;
      isTaken = true;
      void borrowing.then((borrowed) => (borrowed?.kind === 'worker' ? borrowed.giveBack() : undefined));
    },
  };
}

/** Of a link its own, not that of where it leads. */
function identityOf(path: string): string | undefined {
  try {
    const { dev, ino } = lstatSync(path, { bigint: true });
    return `${dev} ${ino}`;
  } catch {
    return undefined;
  }
}
