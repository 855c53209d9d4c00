import { Client, escapeIdentifier } from 'pg';

const SESSIONS_END_WITHIN_MS = 10_000;

/** Ends whatever sessions are open on the database, and leaves it as `CREATE DATABASE` makes it. */
export async function emptyDatabase(url: string): Promise<void> {
  const client = new Client({ connectionString: url, connectionTimeoutMillis: 5_000 });
  client.on('error', () => {});
  try {
    await client.connect();
    await endOtherSessions(client);
    await client.query(await emptyingStatements(client));
  } finally {
    await client.end().catch(() => {});
  }
}

/** Their locks go with them, advisory ones too. */
async function endOtherSessions(client: Client): Promise<void> {
  const deadline = Date.now() + SESSIONS_END_WITHIN_MS;
  for (;;) {
    // Waits a while for each; one that ends by itself meanwhile is not counted as ended, so we look again.
    const { rowCount } = await client.query(
      `select pg_terminate_backend(pid, 100) from pg_stat_activity
       where datname = current_database() and pid <> pg_backend_pid()`,
    );
    if (rowCount === 0) return;
    if (Date.now() > deadline) throw new Error('A session of the database does not end.');
  }
}

async function emptyingStatements(client: Client): Promise<string> {
  const { rows: schemas } = await client.query<{ name: string }>(
    `select nspname as name from pg_namespace where nspname !~ '^pg_' and nspname <> 'information_schema'`,
  );
  return [
    ...schemas.map(({ name }) => `drop schema ${escapeIdentifier(name)} cascade`),
    'create schema public authorization pg_database_owner',
    'grant usage on schema public to public',
    'select lo_unlink(oid) from pg_largeobject_metadata',
  ].join(';');
}
