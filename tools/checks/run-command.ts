import { type ChildProcess, spawn } from 'node:child_process';
import { constants } from 'node:os';

export interface CommandResult {
  readonly exitCode: number;
  /** Standard output and error as they came; empty when shown live. */
  readonly output: string;
  readonly ms: number;
}

export interface Command {
  readonly argv: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly show: 'live' | 'captured';
}

const running = new Set<ChildProcess>();
let stopping = false;

/** Runs one tool on this Node. A signal to us ends the tools too: none is left behind. */
export function runOnNode({ argv, env = {}, show }: Command): Promise<CommandResult> {
  endWithUs();
  const started = performance.now();
  const colour = process.stdout.isTTY ? { FORCE_COLOR: '1' } : {};
  const child = spawn(process.execPath, argv, {
    stdio: show === 'live' ? ['ignore', 'inherit', 'inherit'] : ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...colour, ...env },
  });
  running.add(child);
  const chunks: Buffer[] = [];
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (chunk: Buffer) => chunks.push(chunk));
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => {
      running.delete(child);
      // Nobody goes on after a signal: the exit is near, and the caller would report and start the next.
      if (stopping) return;
      const output = Buffer.concat(chunks).toString('utf8');
      resolve({ exitCode: code ?? 1, output, ms: performance.now() - started });
    });
  });
}

let listening = false;

function endWithUs(): void {
  if (listening) return;
  listening = true;
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    // `on`, not `once`: a signal to the whole group comes twice, and the second would end us before the tools have ended.
    process.on(signal, () => {
      if (stopping) return;
      stopping = true;
      const ended = [...running].map((child) => new Promise((resolve) => child.once('close', resolve)));
      // The terminal has already told everyone; a second Ctrl-C makes vitest leave without cleaning up.
      const isTold = process.stdin.isTTY && signal !== 'SIGTERM';
      if (!isTold) for (const child of running) child.kill(signal);
      void Promise.all(ended).then(() => process.exit(128 + constants.signals[signal]));
    });
  }
}
