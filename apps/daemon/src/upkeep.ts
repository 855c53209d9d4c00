import { join } from 'node:path';
import type { Config, HomeLayout } from '@palyra/config';
import { archiveSegments, pruneSegments, type SegmentDeps, sealSegment } from '@palyra/journal';
import type { Clock, Logger } from '@palyra/primitives';
import type { Daemon } from './compose.ts';

export interface UpkeepDeps {
  readonly home: Pick<HomeLayout, 'root' | 'bodies'>;
  readonly settings: Config['journal'];
  readonly daemon: Pick<Daemon, 'approvals' | 'journal' | 'database'>;
  readonly clock: Clock;
  readonly logger: Pick<Logger, 'error'>;
}

/** What has to be done again and again, for as long as it is open. */
export interface Upkeep {
  /** Once, now. Never rejects: each part that fails is said, and tried again the next time. */
  tend(): Promise<void>;
  close(): Promise<void>;
}

const EVERY_MS = 60_000;
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** Questions that ended; what became of them stays in the journal. */
const REMEMBER_ENDED_MS = 30 * DAY_MS;

export function startUpkeep(deps: UpkeepDeps): Upkeep {
  const { daemon, clock, logger } = deps;
  const closing = new AbortController();
  const attempt = async (what: string, act: () => Promise<unknown>): Promise<void> => {
    try {
      await act();
    } catch (error) {
      logger.error({ error, what }, 'What is done again and again could not be done.');
    }
  };
  const tend = async (): Promise<void> => {
    await attempt('expire questions', () => daemon.approvals.expire());
    await attempt('forget questions', () => daemon.approvals.forget(clock.now() - REMEMBER_ENDED_MS));
    await attempt('seal the journal', () => tendJournal(deps));
  };
  const keepOn = async () => {
    while (!closing.signal.aborted) {
      await clock.sleep(EVERY_MS, closing.signal).catch(() => undefined);
      if (!closing.signal.aborted) await tend();
    }
  };
  const tending = keepOn();
  return {
    tend,
    async close() {
      closing.abort();
      await tending;
    },
  };
}

/** Sealed when much or old enough; archived and pruned when the operator keeps the record for a time only. */
async function tendJournal({ daemon, settings, home, clock }: UpkeepDeps): Promise<void> {
  const { database, journal } = daemon;
  const segments: SegmentDeps = { database, append: journal.appendOwn, bodyDirectory: home.bodies, clock };
  const { segment_entries: entries, segment_hours: hours, keep_days: days } = settings;
  await sealSegment(segments, { entries, ageMs: hours * HOUR_MS });
  if (days === 0) return;
  const directory = join(home.root, 'archive');
  await archiveSegments(segments, directory);
  await pruneSegments(segments, { directory, olderThanMs: days * DAY_MS });
}
