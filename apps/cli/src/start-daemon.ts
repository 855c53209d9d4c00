import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, constants, fstatSync, openSync, readSync, renameSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { type HomeLayout, PALYRAD_FLAGS } from '@palyra/config';
import { visibleText } from '@palyra/primitives';
import { CliError } from './cli-error.ts';
import type { CommandContext } from './command.ts';
import { type DaemonFile, readDaemonFile } from './daemon-file.ts';

export interface StartOptions {
  /** Ends by itself when nobody has needed it for a while. */
  readonly idleExit: boolean;
}

const PATIENCE_MS = 30_000;
const LOOK_EVERY_MS = 10;
const LARGEST_LOG = 8 * 1024 * 1024;

/** The one that runs, or one that is started now. Throws `cli.daemon_failed`. */
export async function ensureDaemon(
  home: HomeLayout,
  options: StartOptions,
  context: CommandContext,
): Promise<DaemonFile & { readonly started: boolean }> {
  const running = await findRunning(home);
  if (running !== undefined) return { ...running, started: false };
  context.terminal?.progress('Starting palyrad ...');
  const log = join(home.root, 'palyrad.log');
  const child = spawnDaemon(home, log, options, context);
  try {
    return { ...(await awaitListening(home, child, log)), started: true };
  } finally {
    child.unref();
  }
}

/** One that loads already, and begins when it is told. */
export interface LoadingDaemon {
  /** Throws `cli.daemon_failed`. */
  begin(): Promise<DaemonFile>;
  cancel(): void;
}

/** For a home that is being made: loading takes as long, and the two need nothing of one another. */
export function loadDaemon(home: HomeLayout, options: StartOptions, context: CommandContext): LoadingDaemon {
  const log = join(home.root, 'palyrad.log');
  const child = spawnDaemon(home, log, { ...options, waits: true }, context);
  // One that could not be started is noticed when it should begin.
  child.on('error', () => undefined);
  child.stdin?.on('error', () => undefined);
  return {
    async begin() {
      try {
        const listening = awaitListening(home, child, log);
        child.stdin?.end();
        return await listening;
      } finally {
        child.unref();
      }
    },
    cancel() {
      child.kill();
      child.unref();
    },
  };
}

/** Whoever listens where the file says; that it is palyrad is seen when it shows its certificate. */
export async function findRunning(home: HomeLayout): Promise<DaemonFile | undefined> {
  const file = readDaemonFile(home);
  // Left behind by one that was killed: whoever has its port by now is somebody else.
  if (file === undefined || !isAlive(file.pid)) return undefined;
  return (await isListening(file.address)) ? file : undefined;
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // Of another user, as a service is: then it is there.
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
}

function isListening(address: string): Promise<boolean> {
  const [, host = '', port = ''] = /^\[?(.*?)\]?:(\d+)$/.exec(address) ?? [];
  return new Promise((resolve) => {
    const socket = connect({ host, port: Number(port) });
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false));
    socket.once('connect', () => socket.destroy());
  });
}

function spawnDaemon(
  home: HomeLayout,
  log: string,
  { idleExit, waits = false }: StartOptions & { readonly waits?: boolean },
  { variables }: CommandContext,
): ChildProcess {
  const entry = fileURLToPath(import.meta.resolve('@palyra/daemon/main'));
  const conditions = entry.endsWith('.ts') ? ['--conditions=palyra-source'] : [];
  const output = openLog(log);
  try {
    return spawn(
      process.execPath,
      [
        ...PALYRAD_FLAGS,
        ...conditions,
        entry,
        '--home',
        home.root,
        ...(idleExit ? ['--idle-exit'] : []),
        ...(waits ? ['--wait'] : []),
      ],
      // Of its own session, so that Ctrl-C here is not meant for it; at the root, so that it holds no directory.
      { detached: true, stdio: [waits ? 'pipe' : 'ignore', output, output], cwd: '/', env: withoutNodes(variables) },
    );
  } finally {
    closeSync(output);
  }
}

/**
 * SECURITY: T-40 — what is meant for another Node, such as `--inspect` of an editor, would open palyrad to whoever connects;
 * and it serves all later commands, not only this one.
 */
function withoutNodes(variables: CommandContext['variables']): Record<string, string | undefined> {
  return Object.fromEntries(
    Object.entries(variables).filter(
      ([name]) => (!name.startsWith('NODE_') || KEPT_OF_NODE.has(name)) && name !== 'OPENSSL_CONF',
    ),
  );
}

/** Behind a company's proxy nothing works without the first; the second only holds what Node compiled. */
const KEPT_OF_NODE: ReadonlySet<string> = new Set(['NODE_EXTRA_CA_CERTS', 'NODE_COMPILE_CACHE']);

/** SECURITY: T-40 — for this user alone from the first moment, and no link leads it elsewhere. */
function openLog(path: string): number {
  const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_APPEND | constants.O_NOFOLLOW;
  const file = openSync(path, flags, 0o600);
  if (fstatSync(file).size <= LARGEST_LOG) return file;
  closeSync(file);
  renameSync(path, `${path}.1`);
  return openSync(path, flags, 0o600);
}

async function awaitListening(home: HomeLayout, child: ChildProcess, log: string): Promise<DaemonFile> {
  let ended: string | undefined;
  child.once('exit', (code, signal) => {
    ended = signal === null ? `with ${code}` : `by ${signal}`;
  });
  child.once('error', ({ message }) => {
    ended = `before it began: ${message}`;
  });
  for (let waited = 0; waited < PATIENCE_MS; waited += LOOK_EVERY_MS) {
    const running = await findRunning(home);
    if (running !== undefined) return running;
    // Started twice at once, one of them ends, and the other one will listen.
    if (ended !== undefined && !saysLocked(log)) throw failed(`palyrad ended ${ended}.`, log);
    await sleep(LOOK_EVERY_MS);
  }
  throw failed('palyrad does not answer.', log);
}

function saysLocked(log: string): boolean {
  return lastLines(log).includes('storage.locked');
}

function failed(sentence: string, log: string): CliError {
  const said =
    lastLines(log)
      .split('\n')
      .filter((line) => line !== '')
      .at(-1) ?? '';
  const told = said === '' ? '' : ` It said: ${visibleText(messageOf(said), { maxCharacters: 400 })}`;
  return new CliError('cli.daemon_failed', `${sentence}${told}`, { fix: `Its log is ${log}.` });
}

/** A line of the log, or what it says. */
function messageOf(line: string): string {
  try {
    const { msg, code, fix } = JSON.parse(line) as Readonly<Record<string, unknown>>;
    const parts = [code, msg, fix].filter((part): part is string => typeof part === 'string');
    return parts.length === 0 ? line : parts.join(' ');
  } catch {
    return line;
  }
}

const LAST_BYTES = 4096;

function lastLines(path: string): string {
  try {
    const file = openSync(path, 'r');
    try {
      const { size } = fstatSync(file);
      const from = Math.max(0, size - LAST_BYTES);
      const bytes = Buffer.alloc(size - from);
      return bytes.toString('utf8', 0, readSync(file, bytes, 0, bytes.length, from));
    } finally {
      closeSync(file);
    }
  } catch {
    return '';
  }
}
