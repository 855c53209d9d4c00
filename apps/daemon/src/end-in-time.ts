import type { Clock } from '@palyra/primitives';

/** Whether it came to its end within the time. What it throws is thrown; what is late goes on, and nobody hears of it. */
export async function endInTime(work: Promise<unknown>, ms: number, clock: Clock): Promise<'ended' | 'late'> {
  const done = new AbortController();
  const late = clock.sleep(ms, done.signal).then(
    () => 'late' as const,
    () => 'ended' as const,
  );
  work.catch(() => undefined);
  try {
    return await Promise.race([work.then(() => 'ended' as const), late]);
  } finally {
    // With a word, or an exception with its stack is made of it, for nobody.
    done.abort('over');
  }
}
