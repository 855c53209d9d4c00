import type { Clock } from '@palyra/primitives';
import { connectionLost, mayTryAgain, postgresFault } from './postgres-error.ts';

/** How long to wait for a server that is away, and by which clock. */
export interface Patience {
  readonly clock: Clock;
  readonly patienceMs: number;
}

const FIRST_PAUSE_MS = 20;
const LONGEST_PAUSE_MS = 500;

/** Calls until it gets an answer, a fault that waiting cannot mend, or the deadline. Only for what is safe to repeat. */
export async function repeatWhileAway<Result>(
  attempt: () => Promise<Result>,
  { clock, patienceMs }: Patience,
): Promise<Result> {
  const deadline = clock.now() + patienceMs;
  for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(pause * 2, LONGEST_PAUSE_MS)) {
    try {
      return await attempt();
    } catch (error) {
      const worthIt = connectionLost(error) || mayTryAgain(error);
      if (!worthIt || clock.now() + pause > deadline) throw postgresFault(error);
      await clock.sleep(pause);
    }
  }
}
