import { closeSync, fdatasyncSync, openSync, writeSync } from 'node:fs';
import { mkdir, mkdtemp } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Contender } from './harness.ts';

/** About what a journal entry takes in the database's log. */
const BODY = 'x'.repeat(424);

/** In the checkout: a temporary directory may lie in memory, where nothing is durable and everything is fast. */
export async function directoryOnDisk(): Promise<string> {
  const cache = fileURLToPath(new URL('../.cache/', import.meta.url));
  await mkdir(cache, { recursive: true });
  return mkdtemp(join(cache, 'bench-'));
}

/** The floor: what the disk itself allows to one who waits for each write. */
export function rawAppends<Context extends { readonly directory: string }>(): Contender<Context> {
  return {
    name: 'fdatasync',
    prepare({ directory }) {
      const file = openSync(join(directory, 'raw'), 'a');
      return {
        operation() {
          writeSync(file, BODY);
          fdatasyncSync(file);
        },
        close: () => closeSync(file),
      };
    },
  };
}
