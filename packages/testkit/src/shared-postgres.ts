import { inject } from 'vitest';
import { type PostgresAccess, postgresAt } from './private-postgres.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** Set by `postgres-global-setup.ts`, once for the run. */
    postgresSocketDir: string;
  }
}

/**
 * The run's private cluster; each test makes databases of its own in it.
 * A test that restarts the server calls `startPrivatePostgres` instead, or it would break its neighbours.
 */
export function sharedPostgres(): PostgresAccess {
  return postgresAt(inject('postgresSocketDir'));
}
