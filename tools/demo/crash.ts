import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { entryUrl } from '@palyra/primitives';
import { openGrants } from './grants.ts';
import { holds, type Stage } from './stage.ts';

const ENOUGH = 2_000;

/** A process writes as fast as it can and is killed; what it had been promised must be on disk. */
export async function showCrash({ home, say }: Stage): Promise<void> {
  const path = join(home, 'crash.db');
  const child = spawn(
    process.execPath,
    ['--conditions=palyra-source', fileURLToPath(entryUrl(import.meta.url, './write-grants')), path],
    {
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  );
  const acknowledged = await killAfter(child, ENOUGH);

  const database = await openGrants(path);
  const rows = await database.read.selectFrom('grants').select('id').execute();
  await database.close();
  const kept = new Set(rows.map(({ id }) => id));
  const lost = acknowledged.filter((id) => !kept.has(id));
  say(
    `${acknowledged.length} rows were acknowledged before the kill, ${rows.length} are on disk, ${lost.length} were lost`,
  );
  holds(lost.length === 0, 'nothing acknowledged is lost');
}

async function killAfter(child: ChildProcess, count: number): Promise<readonly string[]> {
  const lines: string[] = [];
  const closed = once(child, 'close');
  for await (const line of createInterface({ input: child.stdout as NodeJS.ReadableStream })) {
    lines.push(line);
    if (lines.length === count) child.kill('SIGKILL');
  }
  await closed;
  return lines;
}
