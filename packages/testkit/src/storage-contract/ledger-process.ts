import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { entryUrl } from '@palyra/primitives';
import type { LedgerOptions } from './ledger-database.ts';

export interface LedgerProcess {
  /** What the process printed so far: entries that the database had acknowledged. */
  readonly acknowledged: readonly string[];
  /** Resolves once so many entries are acknowledged; throws when the process ends before. */
  untilAcknowledged(count: number): Promise<void>;
  /** SIGKILL, and everything it had printed before. */
  kill(): Promise<void>;
  /** Resolves with the exit code. */
  end(): Promise<number | null>;
}

export interface LedgerProcessOptions {
  readonly location: LedgerOptions['location'];
  readonly label: string;
  readonly writers: number;
  readonly count: number;
}

export function startLedgerProcess({ location, label, writers, count }: LedgerProcessOptions): LedgerProcess {
  const script = fileURLToPath(entryUrl(import.meta.url, './ledger-writer'));
  const args = ['--conditions=palyra-source', script, JSON.stringify(location), label, `${writers}`, `${count}`];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  const closed = once(child, 'close') as Promise<[number | null]>;
  const acknowledged: string[] = [];
  const lines = createInterface({ input: child.stdout });
  lines.on('line', (line) => acknowledged.push(line));

  return {
    acknowledged,
    async untilAcknowledged(wanted) {
      const enough = new Promise<void>((resolve) => {
        lines.on('line', () => {
          if (acknowledged.length >= wanted) resolve();
        });
      });
      if (acknowledged.length < wanted) await Promise.race([enough, endedEarly(child)]);
    },
    async kill() {
      child.kill('SIGKILL');
      await closed;
    },
    async end() {
      return (await closed)[0];
    },
  };
}

async function endedEarly(child: ChildProcess): Promise<never> {
  await once(child, 'exit');
  throw new Error('The writing process ended before it had written enough.');
}
