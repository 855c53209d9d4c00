import { type HomeLayout, homeLayout, loadConfig } from '@palyra/config';
import type { HomeJournal, JournalReader, JournalWriter } from '@palyra/journal';
import { reveal } from '@palyra/primitives';
import type { CommandContext } from './command.ts';
import { findHome } from './find-home.ts';

export type JournalModule = typeof import('@palyra/journal');

export interface FoundJournal {
  readonly home: HomeLayout;
  readonly place: HomeJournal;
  readonly retention: Retention;
  /** Of the environment, for the command to pass on. */
  readonly warnings: readonly string[];
}

/** The `journal` section of palyra.toml. */
export interface Retention {
  readonly segmentEntries: number;
  readonly segmentHours: number;
  readonly keepDays: number;
}

/** Where the journal of the home in use is, or of another home. Needs no daemon, and opens nothing. */
export function findJournal(context: CommandContext, root?: string): FoundJournal {
  const { home: inUse, environment } = findHome(context);
  const home = root === undefined ? inUse : homeLayout(root);
  const { config } = loadConfig({ home, environment });
  const { url, lock_timeout_ms: lockTimeoutMs, pool_size: poolSize } = config.storage;
  const place: HomeJournal = {
    location:
      url === undefined
        ? { kind: 'sqlite', path: home.database }
        : { kind: 'postgres', url: reveal(url), poolSize: Math.min(poolSize, MOST_CONNECTIONS) },
    lockTimeoutMs,
    keyDirectory: home.identity,
    // Those who share a server share no disk.
    bodyDirectory: url === undefined ? home.bodies : undefined,
  };
  const { segment_entries: segmentEntries, segment_hours: segmentHours, keep_days: keepDays } = config.journal;
  const retention = { segmentEntries, segmentHours, keepDays };
  return { home, place, retention, warnings: environment.warnings };
}

const MOST_CONNECTIONS = 2;

/** For one command; closed when it is over. Throws `JournalError`, `StorageError`. */
export async function readingJournal<Result>(
  context: CommandContext,
  act: (reader: JournalReader, journal: JournalModule) => Promise<Result>,
): Promise<Result> {
  const { place } = findJournal(context);
  const journal = await loadJournal();
  const reader = await journal.openHomeForReading(place);
  try {
    return await act(reader, journal);
  } finally {
    await reader.close();
  }
}

/** The same for the few changes that need no daemon. */
export async function writingJournal<Result>(
  context: CommandContext,
  act: (writer: JournalWriter, journal: JournalModule) => Promise<Result>,
): Promise<Result> {
  const { place } = findJournal(context);
  const journal = await loadJournal();
  const writer = await journal.openHomeForWriting(place, SILENT);
  try {
    return await act(writer, journal);
  } finally {
    await writer.close();
  }
}

/** Late, because it brings the databases along, which most commands never need. */
export async function loadJournal(): Promise<JournalModule> {
  return import('@palyra/journal');
}

/** What fails is thrown as well; a person need not read it twice. */
export const SILENT: { error(): void } = { error: () => undefined };

/** Whoever can run this with the keys of the home; no person was authenticated. */
export const CLI_ACTOR = 'service:palyra-cli';
