import { randomUUID } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/**
 * Names the owner of a home across restarts. Where several share one database each has its own name.
 * SECURITY: T-32 — by one name for all, whoever starts says of the calls that run elsewhere that nobody knows their end.
 */
export async function nodeName(identity: string): Promise<string> {
  const file = join(identity, 'node-name');
  await writeFile(file, `palyrad-${randomUUID()}\n`, { flag: 'wx', mode: 0o600 }).catch(existsAlready);
  return (await readFile(file, 'utf8')).trim();
}

function existsAlready(error: unknown): void {
  if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error;
}
