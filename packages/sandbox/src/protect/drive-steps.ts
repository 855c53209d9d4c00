import { setImmediate as afterOthers } from 'node:timers/promises';

/** So long nobody else gets a turn. */
const SLICE_MS = 5;

/** All at once. */
export function driveNow<T>(steps: Generator<undefined, T>): T {
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
  }
}

/** SECURITY: T-15 — a large tree takes a while, in which the daemon has other things to do. Throws when it is aborted. */
export async function drive<T>(steps: Generator<undefined, T>, signal?: AbortSignal): Promise<T> {
  try {
    for (let until = performance.now() + SLICE_MS; ; ) {
      signal?.throwIfAborted();
      const step = steps.next();
      if (step.done === true) return step.value;
      if (performance.now() < until) continue;
      await afterOthers();
      until = performance.now() + SLICE_MS;
    }
  } catch (error) {
    // What it holds open.
    steps.return(undefined as never);
    throw error;
  }
}
