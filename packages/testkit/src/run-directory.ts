import { rmSync } from 'node:fs';
import { lstat, mkdtemp, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';

export interface RunDirectory {
  readonly path: string;
  /** Removes it and everything in it. */
  remove(): Promise<void>;
}

/**
 * A directory of this process below /tmp, for what must be reached by another user: `TMPDIR` may be closed to it, and is
 * too long for a socket's path. It is removed when the process exits; `beforeRemoval` runs first then, and must not wait.
 * What a killed run left is removed by the next one that asks for a directory of the same kind.
 */
export async function createRunDirectory(
  kind: string,
  { beforeRemoval = () => {} }: { readonly beforeRemoval?: () => void } = {},
): Promise<RunDirectory> {
  await sweepAbandoned(kind);
  const path = await mkdtemp(`/tmp/palyra-${kind}-${process.pid}-`);
  const onExit = () => {
    beforeRemoval();
    rmSync(path, { recursive: true, force: true, maxRetries: 5 });
  };
  process.once('exit', onExit);
  return {
    path,
    async remove() {
      process.off('exit', onExit);
      await rm(path, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

/** Everybody may create names in /tmp, so only directories of our own user count. */
async function sweepAbandoned(kind: string): Promise<void> {
  const name = new RegExp(`^palyra-${kind}-(\\d+)-[A-Za-z0-9]{6}$`);
  for (const entry of await readdir('/tmp')) {
    const creator = name.exec(entry)?.[1];
    if (creator === undefined || isAlive(Number(creator))) continue;
    const directory = join('/tmp', entry);
    const found = await lstat(directory).catch(() => undefined);
    if (found?.isDirectory() && found.uid === process.getuid?.()) await rm(directory, { recursive: true, force: true });
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (fault) {
    // EPERM: it lives and belongs to somebody else.
    return fault instanceof Error && 'code' in fault && fault.code === 'EPERM';
  }
}
