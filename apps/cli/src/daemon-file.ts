import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { HomeLayout } from '@palyra/config';

/** What palyrad writes into its home while it listens. A hint: who answers there proves itself by its certificate. */
export interface DaemonFile {
  readonly pid: number;
  readonly address: string;
}

/** Undefined when it does not listen, or has not said so yet. */
export function readDaemonFile(home: HomeLayout): DaemonFile | undefined {
  try {
    const { pid, address } = JSON.parse(readFileSync(join(home.root, 'palyrad.json'), 'utf8')) as Partial<DaemonFile>;
    return typeof pid === 'number' && typeof address === 'string' ? { pid, address } : undefined;
  } catch {
    // Being written, or left behind half: whoever listens writes it anew.
    return undefined;
  }
}
