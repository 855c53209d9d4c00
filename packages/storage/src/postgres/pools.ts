import pg from 'pg';
import type { QueryResult } from '../program.ts';
import { StorageError } from '../storage-error.ts';
import type { StoredValue } from '../value.ts';

export interface PoolOptions {
  readonly url: string;
  readonly poolSize: number;
  readonly lockTimeoutMs: number;
  /** How long a server may keep us waiting for an answer; then the connection counts as lost. */
  readonly answerTimeoutMs: number;
}

export interface Pools {
  readonly writing: pg.Pool;
  /** On a connection that only reads. */
  query(sql: string, parameters: readonly StoredValue[]): Promise<QueryResult>;
  /** A connection outside the pools, for listening. */
  connectAlone(): Promise<pg.Client>;
  close(): Promise<void>;
}

const CONNECT_TIMEOUT_MS = 5_000;
/** Numbers come back as they were stored, whatever the role or the URL prefer. */
const EXACT = 'set extra_float_digits = 1';
const INT8 = 20;
const NUMERIC = 1700;
const BYTEA = 17;

export function createPools({ url, poolSize, lockTimeoutMs, answerTimeoutMs }: PoolOptions): Pools {
  const shared = {
    connectionString: url,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    keepAlive: true,
    query_timeout: answerTimeoutMs,
    application_name: 'palyrad',
    types: { getTypeParser },
  };
  // Set on each connection, not in its options: those of the URL would win. An acknowledged unit must survive a crash of
  // the server, whatever the server's own default is.
  const writing = new pg.Pool({
    ...shared,
    max: poolSize,
    // oxlint-disable-next-line typescript/no-misused-promises -- the pool waits for it; its types are behind.
    onConnect: (client) => run(client, `${EXACT}; set synchronous_commit = on; set lock_timeout = ${lockTimeoutMs}`),
  });
  const reading = new pg.Pool({
    ...shared,
    max: poolSize,
    // oxlint-disable-next-line typescript/no-misused-promises -- as above.
    onConnect: (client) => run(client, `${EXACT}; set session characteristics as transaction read only`),
  });
  for (const pool of [writing, reading]) {
    // A connection that breaks fails its query or is replaced at its next use; without listeners it would end the process.
    pool.on('error', () => undefined);
    pool.on('connect', (client) => client.on('error', () => undefined));
  }

  return {
    writing,
    async query(sql, parameters) {
      const { rowCount, rows } = await reading.query(sql, [...parameters]);
      return { rowCount: rowCount ?? 0, rows };
    },
    async connectAlone() {
      const client = new pg.Client(shared);
      await client.connect();
      return client;
    },
    async close() {
      await Promise.all([writing.end(), reading.end()]);
    },
  };
}

async function run(client: pg.ClientBase, sql: string): Promise<void> {
  await client.query(sql);
}

/** Rows look the same from both drivers: integers are numbers, bytes are plain `Uint8Array`s. */
function getTypeParser(oid: number, format?: 'text' | 'binary'): (value: string) => unknown {
  if (oid === INT8) return parseInteger;
  if (oid === NUMERIC) return (text) => (/^-?\d+$/.test(text) ? parseInteger(text) : Number(text));
  // oxlint-disable-next-line typescript/no-unsafe-enum-assignment -- the enum lists only the built-in types.
  const parse: (value: string) => unknown = pg.types.getTypeParser(oid, format);
  if (oid === BYTEA) return (value) => new Uint8Array(parse(value) as Buffer);
  return parse;
}

function parseInteger(text: string): number {
  const value = Number(text);
  if (Number.isSafeInteger(value)) return value;
  throw new StorageError('storage.corrupt', 'The database holds an integer beyond 2^53 - 1, which nobody stored.', {
    fix: 'Restore it from a backup.',
  });
}
