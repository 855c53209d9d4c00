import { inject } from 'vitest';
import { emptyDatabase } from './empty-database.ts';
import { type PostgresAccess, postgresAt, type TestDatabase } from './private-postgres.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** Set by `postgres-global-setup.ts`, once for the run. */
    postgresSocketDir: string;
  }
}

export interface SharedPostgres extends PostgresAccess {
  /** An empty database. Making one takes ten times as long as emptying one, so whoever can gives it back. */
  createDatabase(): Promise<SharedDatabase>;
}

export interface SharedDatabase extends TestDatabase {
  /** Instead of `drop`: it is emptied, whatever sessions are still open on it end, and another test of this file gets it. */
  giveBack(): Promise<void>;
}

/** What tests of this process gave back. */
const emptied: TestDatabase[] = [];

/**
 * The run's private cluster; each test has databases of its own in it.
 * A test that restarts the server calls `startPrivatePostgres` instead, or it would break its neighbours.
 */
export function sharedPostgres(): SharedPostgres {
  const access = postgresAt(inject('postgresSocketDir'));
  return {
    ...access,
    async createDatabase() {
      const database = emptied.pop() ?? (await access.createDatabase());
      const { url } = database;
      let isOurs = true;
      const once = async (end: () => Promise<void>) => {
        if (!isOurs) return;
        isOurs = false;
        await end();
      };
      return {
        url,
        drop: () => once(() => database.drop()),
        giveBack: () =>
          once(async () => {
            await emptyDatabase(url);
            emptied.push(database);
          }),
      };
    },
  };
}
