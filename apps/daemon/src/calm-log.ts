import type { Clock, LogFields, Logger } from '@palyra/primitives';

/** Says the same thing once a second, and then how often it was not said. */
export interface CalmLog {
  warn(key: string, fields: LogFields, message: string): void;
}

const ONCE_MS = 1_000;
const MOST_KEYS = 1_000;

/** SECURITY: T-39 — whoever is refused ten thousand times a second does not fill the disk with it. */
export function createCalmLog(logger: Pick<Logger, 'warn'>, clock: Pick<Clock, 'now'>): CalmLog {
  const said = new Map<string, { readonly at: number; unsaid: number }>();
  return {
    warn(key, fields, message) {
      const last = said.get(key);
      const now = clock.now();
      if (last !== undefined && now - last.at < ONCE_MS && now >= last.at) {
        last.unsaid += 1;
        return;
      }
      if (said.size >= MOST_KEYS) said.clear();
      said.set(key, { at: now, unsaid: 0 });
      const unsaid = last?.unsaid ?? 0;
      logger.warn(unsaid === 0 ? fields : { ...fields, unsaid }, message);
    },
  };
}
