import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

/** A process that writes, and prints a line for each thing once the database has acknowledged it, and not before. */
export interface AcknowledgingProcess {
  /** What the process printed so far. */
  readonly acknowledged: readonly string[];
  /** Resolves once so many things are acknowledged; throws when the process ends before. */
  untilAcknowledged(count: number): Promise<void>;
  /** SIGKILL, and everything it had printed before. */
  kill(): Promise<void>;
  /** Resolves with the exit code. */
  end(): Promise<number | null>;
}

export function startAcknowledgingProcess(script: URL, args: readonly string[]): AcknowledgingProcess {
  const command = ['--conditions=palyra-source', fileURLToPath(script), ...args];
  const child = spawn(process.execPath, command, { stdio: ['ignore', 'pipe', 'inherit'] });
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
