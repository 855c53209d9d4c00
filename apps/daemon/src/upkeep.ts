import { join } from 'node:path';
import type { Config, HomeLayout } from '@palyra/config';
import { IdentityError, renewHome } from '@palyra/identity';
import { archiveSegments, pruneSegments, type SegmentDeps, sealSegment } from '@palyra/journal';
import type { Clock, Logger } from '@palyra/primitives';
import type { Daemon } from './compose.ts';

export interface UpkeepDeps {
  readonly home: Pick<HomeLayout, 'root' | 'bodies' | 'identity'>;
  readonly settings: Config['journal'];
  readonly daemon: Pick<Daemon, 'approvals' | 'journal' | 'database' | 'identity'>;
  readonly clock: Clock;
  readonly logger: Pick<Logger, 'error' | 'info'>;
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

/** Resolves when the credentials of the home are good, or cannot be made so: whoever connects then finds them. */
export async function startUpkeep(deps: UpkeepDeps): Promise<Upkeep> {
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
    await renewCredentials(deps);
  };
  const keepOn = async () => {
    while (!closing.signal.aborted) {
      await clock.sleep(EVERY_MS, closing.signal).catch(() => undefined);
      if (!closing.signal.aborted) await tend();
    }
  };
  await renewCredentials(deps);
  const tending = keepOn();
  return {
    tend,
    async close() {
      closing.abort();
      await tending;
    },
  };
}

/** Those of the two that are due, or ran out while palyrad was not there. */
async function renewCredentials({ home, daemon, clock, logger }: UpkeepDeps): Promise<void> {
  const { authority, registry } = daemon.identity;
  const by = 'daemon:palyrad';
  for (const each of await renewHome({ identityDirectory: home.identity, authority, registry, clock, by })) {
    const { name } = each;
    if (each.kind === 'renewed') {
      logger.info({ name, not_after: new Date(each.notAfter).toISOString() }, 'A credential of the home was renewed.');
    }
    if (each.kind === 'failed' && !isOfAnother(each.error)) {
      logger.error({ name, error: each.error }, 'A credential of the home could not be renewed.');
    }
  }
}

/** `palyra init` at the same time. */
function isOfAnother(error: unknown): boolean {
  return error instanceof IdentityError && error.code === 'identity.changed_meanwhile';
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
