import { randomUUID } from 'node:crypto';
import { renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { HomeLayout } from '@palyra/config';

/** Where hooks find palyrad, and the key by which each knows the other; both are new with every start. */
export interface HookPlace {
  readonly port: number;
  readonly key: Uint8Array;
}

/** `hook` in the home, whole or not at all: `127.0.0.1 PORT`, and the key in hexadecimal. */
export function writeHookFile({ root }: Pick<HomeLayout, 'root'>, { port, key }: HookPlace): void {
  const draft = join(root, `.hook-${randomUUID()}`);
  try {
    writeFileSync(draft, `127.0.0.1 ${port}\n${Buffer.from(key).toString('hex')}\n`, { flag: 'wx', mode: 0o600 });
    renameSync(draft, join(root, 'hook'));
  } finally {
    rmSync(draft, { force: true });
  }
}

export function removeHookFile({ root }: Pick<HomeLayout, 'root'>): void {
  rmSync(join(root, 'hook'), { force: true });
}
