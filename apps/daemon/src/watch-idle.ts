import type { Clock } from '@palyra/primitives';

export interface IdleDeps {
  /** Whether somebody uses palyrad: a connection, a run, a question. What it throws counts as a yes. */
  isUsed(): Promise<boolean>;
  readonly idleMs: number;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

const LOOK_EVERY_MS = 5_000;

/** Resolves when nobody has used palyrad for so long; to false when the signal came first. */
export async function untilIdle({ isUsed, idleMs, clock, signal }: IdleDeps): Promise<boolean> {
  let usedAt = clock.now();
  while (!signal.aborted) {
    await clock.sleep(Math.min(LOOK_EVERY_MS, idleMs), signal).catch(() => undefined);
    if (signal.aborted) break;
    // A minute in which nothing could be asked is no minute in which nothing was done.
    if (await isUsed().catch(() => true)) usedAt = clock.now();
    if (clock.now() - usedAt >= idleMs) return true;
  }
  return false;
}
