import { execFileSync } from 'node:child_process';
import { chmod, mkdir, mkdtemp, readdir, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const CHECKOUT = fileURLToPath(new URL('../', import.meta.url));

/**
 * A clone of this repository with the directories and file names of its installed packages. The files are empty: a look at
 * protected paths reads none of them.
 */
export async function makeRepository(owner: number | undefined): Promise<string> {
  const workspace = await mkdtemp(join(tmpdir(), 'palyra-bench-repository-'));
  await chmod(workspace, 0o755);
  execFileSync('git', ['-c', 'safe.directory=*', 'clone', '--quiet', CHECKOUT, workspace], { stdio: 'pipe' });
  await copyNames(join(CHECKOUT, 'node_modules'), join(workspace, 'node_modules'));
  if (owner !== undefined) execFileSync('chown', ['-R', `${owner}:${owner}`, workspace]);
  return workspace;
}

async function copyNames(from: string, to: string): Promise<void> {
  await mkdir(to);
  for (const entry of await readdir(from, { withFileTypes: true })) {
    const target = join(to, entry.name);
    if (entry.isDirectory()) await copyNames(join(from, entry.name), target);
    else if (entry.isFile()) await writeFile(target, '');
  }
}
