import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface TemporaryHome extends AsyncDisposable {
  /** Absolute, 0700, empty at first. */
  readonly path: string;
}

/** A directory to stand for `$PALYRA_HOME`: `await using home = await createTemporaryHome();` */
export async function createTemporaryHome(): Promise<TemporaryHome> {
  // mkdtemp(3) makes it 0700 whatever the umask.
  const path = await mkdtemp(join(tmpdir(), 'palyra-home-'));
  return {
    path,
    async [Symbol.asyncDispose]() {
      await rm(path, { recursive: true, force: true, maxRetries: 3 });
    },
  };
}
