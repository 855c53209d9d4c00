import { readFile, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { sha256Hex } from '@palyra/primitives';
import { GatewayError } from '../gateway-error.ts';
import { makePrivateDirectory, writeDurably } from './durable-file.ts';

/** Contents by their digest, each once, however many runs overwrote them. */
export interface KeptBlobs {
  /** Resolves when it is on the disk. Rejects when it cannot be, or is not what its digest says. */
  keep(sha256: string, bytes: Uint8Array): Promise<void>;
  /** Undefined when there is none, or not the one that was kept. */
  fetch(sha256: string): Promise<Uint8Array | undefined>;
  remove(sha256: string): Promise<void>;
}

export function createKeptBlobs(directory: string): KeptBlobs {
  const placeOf = (sha256: string) => {
    if (!/^[0-9a-f]{64}$/.test(sha256)) throw new GatewayError('gateway.fault', 'This is not a digest.');
    return { above: join(directory, sha256.slice(0, 2)), path: join(directory, sha256.slice(0, 2), sha256) };
  };
  return {
    async keep(sha256, bytes) {
      const { above, path } = placeOf(sha256);
      if (sha256Hex(bytes) !== sha256)
        throw new GatewayError('gateway.fault', 'A content is not what its digest says.');
      // Written by `rename`, so what is there is whole.
      if ((await sizeOf(path)) === bytes.length) return;
      await makePrivateDirectory(above);
      await writeDurably(path, bytes);
    },
    async fetch(sha256) {
      const bytes = await readFile(placeOf(sha256).path).catch(absent);
      // SECURITY: T-15 — what was put here by somebody else is never put into the workspace.
      return bytes === undefined || sha256Hex(bytes) !== sha256 ? undefined : bytes;
    },
    remove: (sha256) => rm(placeOf(sha256).path, { force: true }),
  };
}

async function sizeOf(path: string): Promise<number | undefined> {
  return (await stat(path).catch(absent))?.size;
}

export function absent(error: unknown): undefined {
  if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
  throw error;
}
