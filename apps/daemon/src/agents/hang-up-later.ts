import type { Clock } from '@palyra/primitives';

const LOOK_EVERY_MS = 1_000;

export interface Watched {
  /** Whoever is connected: throws when they count no longer, or when that cannot be said. */
  readonly checked: () => Promise<unknown>;
  /** Hangs up on all of them. */
  close(): void;
  readonly clock: Pick<Clock, 'sleep'>;
  readonly signal: AbortSignal;
}

/** SECURITY: T-35 — what is open already ends, too, as streams of revoked tokens do: on one of them calls go on being made. */
export async function hangUpLater({ checked, close, clock, signal }: Watched): Promise<void> {
  while (!signal.aborted) {
    await clock.sleep(LOOK_EVERY_MS, signal).catch(() => undefined);
    if (signal.aborted) return;
    const counts = await checked().then(
      () => true,
      () => false,
    );
    if (!counts) close();
  }
}
