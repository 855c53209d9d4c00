import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { startInTerminal } from './terminal.ts';

const PROGRAM = fileURLToPath(new URL('../../apps/cli/src/main.ts', import.meta.url));

export interface Ended {
  readonly exit: number | null;
  readonly out: string;
  readonly err: string;
}

export interface StartedPalyra {
  readonly child: ChildProcess;
  readonly ended: Promise<Ended>;
  err(): string;
}

/** A person's machine: a home directory, a workspace, and no Palyra yet. */
export interface Newcomer extends AsyncDisposable {
  readonly person: string;
  readonly home: string;
  readonly workspace: string;
  palyra(args: readonly string[], options?: { readonly input?: string; readonly cwd?: string }): Promise<Ended>;
  start(args: readonly string[], options?: { readonly input?: string; readonly cwd?: string }): StartedPalyra;
  /** In a terminal of 24 lines and 80 columns; what is typed is sent as it is. */
  inTerminal(args: readonly string[], typed?: AsyncIterable<string>): Promise<Ended>;
  /** The one that is open now gets another size. */
  resizeTerminal(rows: number, columns: number): void;
  /** Resolves to the only open question once there is one. */
  question(): Promise<{ readonly approval_id: string }>;
}

export function newcomer(): Newcomer {
  const person = mkdtempSync(join(tmpdir(), 'palyra-newcomer-'));
  const home = join(person, '.palyra');
  const workspace = join(person, 'project');
  const terminal = join(person, 'terminal');
  mkdirSync(workspace);
  // As homes are: a command under limits only is not root, and could not enter it otherwise.
  chmodSync(person, 0o755);
  const env = {
    PATH: process.env['PATH'],
    HOME: person,
    PALYRA_HOME: home,
    TERM: 'xterm',
    NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'],
  };
  const words = (args: readonly string[]) => ['--conditions=palyra-source', PROGRAM, ...args];
  const start: Newcomer['start'] = (args, { input = '', cwd = workspace } = {}) => {
    const child = spawn(process.execPath, words(args), { cwd, env, stdio: 'pipe' });
    child.stdin.end(input);
    return watch(child);
  };
  return {
    person,
    home,
    workspace,
    start,
    palyra: (args, options) => start(args, options).ended,
    async inTerminal(args, typed) {
      await using session = startInTerminal([process.execPath, ...words(args)], {
        cwd: workspace,
        env,
        nameIn: terminal,
      });
      if (typed !== undefined) for await (const keys of typed) session.press(keys);
      const exit = await session.ended;
      return { exit, out: session.shown(), err: '' };
    },
    resizeTerminal(rows, columns) {
      const name = readFileSync(terminal, 'utf8').trim();
      execFileSync('stty', ['-F', name, 'rows', String(rows), 'cols', String(columns)]);
    },
    async question() {
      for (;;) {
        const { out } = await start(['inbox']).ended;
        const [, id] = /^([0-9A-Z]{6}) /m.exec(out.replace(/^ID.*\n/, '')) ?? [];
        if (id !== undefined) return { approval_id: id };
        await sleep(50);
      }
    },
    async [Symbol.asyncDispose]() {
      const file = join(home, 'palyrad.json');
      if (existsSync(file)) {
        const { pid } = JSON.parse(readFileSync(file, 'utf8')) as { pid: number };
        await start(['down', '--now']).ended;
        while (isAlive(pid)) await sleep(20);
      }
      rmSync(person, { recursive: true, force: true });
    },
  };
}

function watch(child: ReturnType<typeof spawn>): StartedPalyra {
  const out: Buffer[] = [];
  const err: Buffer[] = [];
  child.stdout?.on('data', (bytes: Buffer) => out.push(bytes));
  child.stderr?.on('data', (bytes: Buffer) => err.push(bytes));
  const text = (pieces: Buffer[]) => Buffer.concat(pieces).toString();
  const ended = new Promise<Ended>((resolve) => {
    child.once('close', (exit) => resolve({ exit, out: text(out), err: text(err) }));
  });
  return { child, ended, err: () => text(err) };
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
