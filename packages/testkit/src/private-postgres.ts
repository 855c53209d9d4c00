import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { closeSync, existsSync, openSync, readFileSync } from 'node:fs';
import { chmod, chown, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Client, escapeIdentifier } from 'pg';
import {
  asServerUser,
  findPostgresBinaries,
  type PostgresBinaries,
  type ServerUser,
  serverUser,
} from './postgres-host.ts';
import { declareLongLived } from './process-mark.ts';
import { createRunDirectory, type RunDirectory } from './run-directory.ts';

export interface TestDatabase {
  readonly url: string;
  /** Drops the database, ending whatever sessions are still open on it. */
  drop(): Promise<void>;
}

/** What a test needs of a cluster that somebody else started: see `postgres-global-setup.ts`. */
export interface PostgresAccess {
  readonly socketDir: string;
  /** A connection string for `pg` that goes through the private socket, whatever `PGHOST` or `PGPORT` say. */
  url(database: string): string;
  createDatabase(name?: string): Promise<TestDatabase>;
}

export interface PrivatePostgres extends PostgresAccess {
  readonly dataDir: string;
  /** The postmaster; another one after `restart`. */
  readonly pid: number;
  /** `fast` ends sessions and writes a checkpoint; `immediate` is a crash with recovery. Resolves once it accepts connections again. */
  restart(mode: 'fast' | 'immediate', settings?: Readonly<Record<string, string>>): Promise<void>;
  /** Ends the server by pid and removes its directory. A second call does nothing. */
  stop(): Promise<void>;
}

const START_DEADLINE_MS = 30_000;
const STOP_DEADLINE_MS = 20_000;
const EXIT_DEADLINE_MS = 3_000;
/** 5432 is only the suffix of the socket's file name; nothing listens on TCP. */
const SOCKET_PORT = '5432';

/**
 * A real PostgreSQL server of our own, with durable commits, on a Unix socket in a directory nobody else can enter.
 * It never runs as root, never touches the machine's own cluster, and ends with this process.
 * Throws an error naming the fix when PostgreSQL is not installed: a missing system part is a failure, not a skip.
 */
export async function startPrivatePostgres(): Promise<PrivatePostgres> {
  const binaries = findPostgresBinaries();
  const user = serverUser();
  let server: ChildProcess | undefined;
  const directory = await createRunDirectory('pg', {
    beforeRemoval: () => {
      if (server !== undefined) endAtExit(server, place);
    },
  });
  const place = placeOf(directory, binaries, user);
  const access = postgresAt(place.socketDir);

  async function start(changed?: Readonly<Record<string, string>>): Promise<void> {
    server = launch(place, changed);
    await untilAccepting(server, place, access.url('postgres'));
  }

  async function stop(): Promise<void> {
    await end(server, 'fast');
    await directory.remove();
  }

  try {
    await initialise(place);
    await start();
  } catch (fault) {
    await end(server, 'immediate');
    await directory.remove();
    throw fault;
  }
  let stopping: Promise<void> | undefined;
  return {
    ...access,
    dataDir: place.dataDir,
    get pid() {
      return pidOf(server);
    },
    async restart(mode, changed) {
      await end(server, mode);
      await start(changed);
    },
    stop() {
      stopping ??= stop();
      return stopping;
    },
  };
}

/** Access to a running cluster by its socket directory, for tests in another process than the one that started it. */
export function postgresAt(socketDir: string): PostgresAccess {
  // The parameters win over the authority part in pg's parser; the port is named because PGPORT would be used otherwise.
  const url = (database: string) =>
    `postgres://postgres@localhost/${encodeURIComponent(database)}?host=${encodeURIComponent(socketDir)}&port=${SOCKET_PORT}`;
  return {
    socketDir,
    url,
    async createDatabase(name = `t_${randomBytes(8).toString('hex')}`) {
      const quoted = escapeIdentifier(name);
      await runOnce(url('postgres'), `CREATE DATABASE ${quoted}`);
      return {
        url: url(name),
        drop: () => runOnce(url('postgres'), `DROP DATABASE IF EXISTS ${quoted} WITH (FORCE)`),
      };
    },
  };
}

interface ClusterPlace {
  readonly binaries: PostgresBinaries;
  readonly user: ServerUser;
  readonly directory: string;
  readonly dataDir: string;
  readonly socketDir: string;
}

function placeOf({ path }: RunDirectory, binaries: PostgresBinaries, user: ServerUser): ClusterPlace {
  return { binaries, user, directory: path, dataDir: join(path, 'data'), socketDir: join(path, 's') };
}

async function initialise({ binaries, user, directory, dataDir, socketDir }: ClusterPlace): Promise<void> {
  await mkdir(dataDir, { mode: 0o700 });
  // Trust authentication below is safe because only the server's user (and root) can enter this directory.
  await mkdir(socketDir, { mode: 0o700 });
  if (user.kind === 'account') {
    await chown(dataDir, user.uid, user.gid);
    await chown(socketDir, user.uid, user.gid);
    await chmod(directory, 0o711);
  }
  const [file, args] = asServerUser(user, binaries.initdb, [
    `--pgdata=${dataDir}`,
    '--username=postgres',
    '--auth=trust',
    '--encoding=UTF8',
    '--locale=C',
    '--no-sync',
  ]);
  try {
    execFileSync(file, args, { cwd: directory, env: serverEnvironment(), stdio: 'pipe' });
  } catch (cause) {
    // Its message carries what initdb wrote to standard error.
    throw new Error(`initdb failed: ${cause instanceof Error ? cause.message : String(cause)}`, { cause });
  }
}

/** `postgres` itself, not `pg_ctl`: a daemonised server would survive us. */
function launch(place: ClusterPlace, changed: Readonly<Record<string, string>> = {}): ChildProcess {
  const settings = {
    listen_addresses: '',
    unix_socket_directories: place.socketDir,
    port: SOCKET_PORT,
    fsync: 'on',
    synchronous_commit: 'on',
    full_page_writes: 'on',
    max_connections: '200',
    ...changed,
  };
  const options = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  const [file, args] = asServerUser(place.user, place.binaries.postgres, ['-D', place.dataDir, ...options]);
  const log = openSync(logFile(place), 'a');
  try {
    const server = spawn(file, args, { cwd: place.directory, env: serverEnvironment(), stdio: ['ignore', log, log] });
    // Spawn errors surface through `untilAccepting`; without a listener they would end the test run instead.
    server.on('error', () => {});
    // The test process may finish while the server runs; the exit hook and the parent-death signal end it then.
    server.unref();
    if (server.pid !== undefined) declareLongLived(server.pid);
    return server;
  } finally {
    closeSync(log);
  }
}

const STOP_SIGNALS = { fast: 'SIGINT', immediate: 'SIGQUIT' } as const;

async function end(server: ChildProcess | undefined, mode: keyof typeof STOP_SIGNALS): Promise<void> {
  if (server === undefined || hasEnded(server)) return;
  const ended = once(server, 'exit');
  server.ref();
  server.kill(STOP_SIGNALS[mode]);
  const lastResort = setTimeout(() => server.kill('SIGQUIT'), STOP_DEADLINE_MS);
  await ended;
  clearTimeout(lastResort);
}

/** At exit the event loop is gone and the child's end cannot be awaited; its lock file says when it has ended. */
function endAtExit(server: ChildProcess, { dataDir }: ClusterPlace): void {
  if (!hasEnded(server)) server.kill('SIGQUIT');
  const sleeper = new Int32Array(new SharedArrayBuffer(4));
  const deadline = Date.now() + EXIT_DEADLINE_MS;
  while (existsSync(join(dataDir, 'postmaster.pid')) && Date.now() < deadline) Atomics.wait(sleeper, 0, 0, 10);
}

async function untilAccepting(server: ChildProcess, place: ClusterPlace, url: string): Promise<void> {
  const deadline = Date.now() + START_DEADLINE_MS;
  for (;;) {
    try {
      await runOnce(url, 'SELECT 1');
      return;
    } catch (cause) {
      if (hasEnded(server)) throw new Error(`The private PostgreSQL ended: ${logTail(place)}`, { cause });
      if (Date.now() > deadline)
        throw new Error(`The private PostgreSQL does not answer: ${logTail(place)}`, { cause });
    }
    await delay(20);
  }
}

async function runOnce(url: string, statement: string): Promise<void> {
  const client = new Client({ connectionString: url, connectionTimeoutMillis: 5_000 });
  // A server that goes away while we disconnect is not a fault of the statement.
  client.on('error', () => {});
  try {
    await client.connect();
    await client.query(statement);
  } finally {
    await client.end().catch(() => {});
  }
}

/** Ours without `PG…`: the server reads PGPORT, PGDATA and others from it. */
function serverEnvironment(): NodeJS.ProcessEnv {
  const kept = Object.entries(process.env).filter(([name]) => !name.startsWith('PG') && !name.startsWith('LC_'));
  return { ...Object.fromEntries(kept), LC_ALL: 'C' };
}

function hasEnded(server: ChildProcess): boolean {
  return server.pid === undefined || server.exitCode !== null || server.signalCode !== null;
}

function pidOf(server: ChildProcess | undefined): number {
  if (server?.pid === undefined) throw new Error('The private PostgreSQL is not running.');
  return server.pid;
}

function logFile({ directory }: ClusterPlace): string {
  return join(directory, 'server.log');
}

function logTail(place: ClusterPlace): string {
  return existsSync(logFile(place)) ? readFileSync(logFile(place), 'utf8').slice(-2_000) : '(no log)';
}
