import type { TestProject } from 'vitest/node';
import { startPrivatePostgres } from './private-postgres.ts';

/** Vitest `globalSetup`: one private cluster for the whole run, reached from tests through `sharedPostgres()`. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const cluster = await startPrivatePostgres();
  project.provide('postgresSocketDir', cluster.socketDir);
  return () => cluster.stop();
}
