import { randomUUID } from 'node:crypto';
import { link, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/**
 * Names the owner of a home across restarts. Where several share one database each has its own name.
 * SECURITY: T-32 — by one name for all, whoever starts says of the calls that run elsewhere that nobody knows their end.
 */
export async function nodeName(identity: string): Promise<string> {
  const file = join(identity, 'node-name');
  const known = await readFile(file, 'utf8').catch(notThere);
  if (known !== undefined) return known.trim();
  // Whole before it has its name: whoever reads it at this moment, or after a crash, does not read half of it.
  const draft = `${file}-${randomUUID()}`;
  try {
    await writeFile(draft, `palyrad-${randomUUID()}\n`, { flag: 'wx', mode: 0o600 });
    await link(draft, file).catch(existsAlready);
  } finally {
    await rm(draft, { force: true });
  }
  return (await readFile(file, 'utf8')).trim();
}

function notThere(error: unknown): undefined {
  if (!isOf(error, 'ENOENT')) throw error;
}

function existsAlready(error: unknown): void {
  if (!isOf(error, 'EEXIST')) throw error;
}

function isOf(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code;
}
