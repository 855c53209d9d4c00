import { join } from 'node:path';
import {
  JOURNAL_MIGRATIONS,
  type Journal,
  type JournalDeps,
  type JournalSchema,
  journalPrograms,
  openJournal,
} from '@palyra/journal';
import { type Database, type DatabaseOptions, type Migration, openDatabase } from '@palyra/storage';

/** Where one test's journal is: a database, and a home beside it for keys and large bodies. */
export interface JournalPlace {
  readonly location: DatabaseOptions['location'];
  readonly directory: string;
}

/** Beside the journal's tables, for steps that share a unit with entries. */
export interface JournalHomeSchema extends JournalSchema {
  readonly accounts: { readonly id: string; readonly balance: number };
}

export interface JournalHome extends AsyncDisposable {
  readonly database: Database<JournalHomeSchema>;
  readonly journal: Journal;
}

const ACCOUNTS: Migration = {
  id: 'accounts/0001-accounts',
  statements: (t) => [`create table accounts (id ${t.text} primary key, balance ${t.integer} not null)${t.strict}`],
};

export interface JournalHomeOptions
  extends Partial<Pick<JournalDeps, 'bodyDirectory' | 'inlineBytes' | 'maxBytes' | 'clock' | 'ids'>>,
    Partial<Pick<DatabaseOptions, 'lockTimeoutMs' | 'programs'>> {}

export function keyDirectoryOf({ directory }: Pick<JournalPlace, 'directory'>): string {
  return join(directory, 'identity');
}

export function bodyDirectoryOf({ directory }: Pick<JournalPlace, 'directory'>): string {
  return join(directory, 'bodies');
}

export function openJournalDatabase(
  place: JournalPlace,
  { lockTimeoutMs = 5_000, programs = [] }: Pick<JournalHomeOptions, 'lockTimeoutMs' | 'programs'> = {},
): Promise<Database<JournalHomeSchema>> {
  return openDatabase<JournalHomeSchema>({
    location: place.location,
    migrations: [...JOURNAL_MIGRATIONS, ACCOUNTS],
    programs: [...journalPrograms(keyDirectoryOf(place)), ...programs],
    lockTimeoutMs,
    logger: { error: () => undefined },
  });
}

/** Opens database and journal as palyrad does. When the journal does not open, neither stays the database. */
export async function openJournalHome(place: JournalPlace, options: JournalHomeOptions = {}): Promise<JournalHome> {
  const database = await openJournalDatabase(place, options);
  try {
    const journal = await openJournal({
      keyDirectory: keyDirectoryOf(place),
      bodyDirectory: bodyDirectoryOf(place),
      ...options,
      database,
    });
    return { database, journal, [Symbol.asyncDispose]: () => database.close() };
  } catch (error) {
    await database.close();
    throw error;
  }
}
