import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { findPostgresBinaries } from './postgres-host.ts';
import { type PrivatePostgres, startPrivatePostgres } from './private-postgres.ts';
import { listProcesses, userIdsOf } from './process-table.ts';
import { createRunDirectory } from './run-directory.ts';

async function rows(url: string, statement: string): Promise<unknown[]> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query(statement)).rows;
  } finally {
    await client.end();
  }
}

function isRunning(pid: number): boolean {
  return listProcesses().some((entry) => entry.pid === pid);
}

test('missing programs are an error that names the fix', () => {
  const empty = mkdtempSync(join(tmpdir(), 'palyra-empty-'));
  onTestFinished(() => rmSync(empty, { recursive: true }));
  expect(() => findPostgresBinaries(empty, join(empty, 'none'))).toThrow(/not installed.*npm run setup/);
});

describe('a private cluster', { timeout: 30_000 }, () => {
  let cluster: PrivatePostgres;
  beforeAll(async () => {
    cluster = await startPrivatePostgres();
  }, 30_000);
  afterAll(() => cluster.stop());

  test('is durable, unreachable by network and not run by root', async () => {
    const settings = await rows(
      cluster.url('postgres'),
      `SELECT name, setting FROM pg_settings WHERE name IN ('fsync', 'listen_addresses', 'synchronous_commit') ORDER BY 1`,
    );
    expect(settings).toEqual([
      { name: 'fsync', setting: 'on' },
      { name: 'listen_addresses', setting: '' },
      { name: 'synchronous_commit', setting: 'on' },
    ]);
    expect(userIdsOf(cluster.pid)).not.toContain(0);
  });

  test('gives databases that do not see one another and can be dropped while in use', async () => {
    const [first, second] = [await cluster.createDatabase(), await cluster.createDatabase('named "so"')];
    await rows(first.url, 'CREATE TABLE only_here (id int)');
    await expect(rows(second.url, 'SELECT * FROM only_here')).rejects.toThrow('does not exist');
    const inUse = new Client({ connectionString: first.url });
    inUse.on('error', () => {});
    await inUse.connect();
    await first.drop();
    await second.drop();
    await expect(rows(first.url, 'SELECT 1')).rejects.toThrow('does not exist');
  });

  test.for(['fast', 'immediate'] as const)('keeps what was committed through a restart (%s)', async (mode) => {
    const database = await cluster.createDatabase();
    await rows(database.url, 'CREATE TABLE kept AS SELECT 7 AS n');
    const before = cluster.pid;
    await cluster.restart(mode);
    expect(cluster.pid).not.toBe(before);
    expect(await rows(database.url, 'SELECT n FROM kept')).toEqual([{ n: 7 }]);
    await database.drop();
  });

  test('is gone after stop, directory included', async () => {
    const own = await startPrivatePostgres();
    const { pid, dataDir } = own;
    await own.stop();
    await own.stop();
    expect({ running: isRunning(pid), left: existsSync(dirname(dataDir)) }).toEqual({ running: false, left: false });
  });

  test.for([
    ['exits without stopping it', 'process.exit(0)', false],
    ['is killed', "process.kill(process.pid, 'SIGKILL')", true],
  ] as const)('ends with a process that %s', async ([, ending, leavesDirectory]) => {
    const module = pathToFileURL(join(import.meta.dirname, 'private-postgres.ts')).href;
    const program = `
      const { startPrivatePostgres } = await import(${JSON.stringify(module)});
      const { pid, dataDir } = await startPrivatePostgres();
      process.stdout.write(JSON.stringify({ pid, dataDir }), () => { ${ending} });
    `;
    const run = spawnSync(process.execPath, ['--input-type=module', '-e', program], { encoding: 'utf8' });
    const { pid, dataDir } = JSON.parse(run.stdout);
    await expect.poll(() => isRunning(pid), { timeout: 5_000 }).toBe(false);
    expect(existsSync(dirname(dataDir))).toBe(leavesDirectory);

    // The next run removes what the killed one could not.
    await (await createRunDirectory('pg')).remove();
    expect(existsSync(dirname(dataDir))).toBe(false);
  });
});
