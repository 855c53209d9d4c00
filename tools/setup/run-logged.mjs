import { spawn } from 'node:child_process';
import { closeSync, mkdirSync, openSync, readFileSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import { SetupError } from './setup-error.mjs';

/**
 * @typedef {object} LoggedCommand
 * @property {string[]} argv
 * @property {string} log the file its whole output goes to
 * @property {boolean} [append] keep what an earlier command of the same step wrote
 * @property {string} [cwd]
 * @property {NodeJS.ProcessEnv} [env]
 * @property {string} [input] given on stdin
 * @property {(pid: number) => void} [onChild] told once it runs: it outlives us when we are killed outright
 * @property {'stop' | 'finish'} onSignal `finish` lets a command that must not be cut short (dpkg) come to its end
 */

const TAIL_LINES = 20;
// Expected on a host whose own Node is older than the pinned one: npm runs on the host's.
const NOISE = /EBADENGINE|^\s*$/;

/**
 * Runs a command with its output in a log file.
 * Throws `setup.interrupted` once the command has ended, when a signal came meanwhile.
 * @param {LoggedCommand} command
 * @returns {Promise<{ ok: boolean, tail: string }>}
 */
export async function runLogged({ argv, log, append = false, cwd, env, input, onChild, onSignal }) {
  mkdirSync(dirname(log), { recursive: true });
  const output = openSync(log, append ? 'a' : 'w');
  const [command = '', ...args] = argv;
  writeSync(output, `$ ${argv.join(' ')}\n`);
  try {
    const child = spawn(command, args, {
      cwd,
      env: env ?? process.env,
      stdio: [input === undefined ? 'ignore' : 'pipe', output, output],
      // Its own session, so the terminal's Ctrl-C reaches only us and we decide.
      detached: process.platform !== 'win32',
    });
    if (child.pid !== undefined) onChild?.(child.pid);
    child.stdin?.end(input);
    const { code, interrupted } = await outcome(child, onSignal);
    if (interrupted !== undefined) {
      throw new SetupError({
        code: 'setup.interrupted',
        message: `${interrupted} stopped ${argv.slice(0, 2).join(' ')}`,
        fix: 'run the same command again; what was done is kept.',
      });
    }
    return { ok: code === 0, tail: tailOf(log) };
  } finally {
    closeSync(output);
  }
}

/**
 * @param {import('node:child_process').ChildProcess} child
 * @param {'stop' | 'finish'} onSignal
 * @returns {Promise<{ code: number, interrupted: string | undefined }>}
 */
function outcome(child, onSignal) {
  return new Promise((resolve) => {
    /** @type {string | undefined} */
    let interrupted;
    /** @param {NodeJS.Signals} signal */
    const stop = (signal) => {
      interrupted = signal;
      if (onSignal === 'stop' && child.pid !== undefined) endGroup(child.pid);
    };
    /** @type {NodeJS.Signals[]} */
    const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'];
    for (const signal of signals) process.on(signal, stop);
    /** @param {number} code */
    const done = (code) => {
      for (const signal of signals) process.off(signal, stop);
      resolve({ code, interrupted });
    };
    child.once('error', () => done(127));
    child.once('exit', (code) => done(code ?? 1));
  });
}

/** @param {number} pid */
function endGroup(pid) {
  try {
    process.kill(process.platform === 'win32' ? pid : -pid, 'SIGTERM');
  } catch {
    // Already gone.
  }
}

/** @param {string} log */
function tailOf(log) {
  const lines = readFileSync(log, 'utf8').split('\n');
  return lines
    .filter((line) => !NOISE.test(line))
    .slice(-TAIL_LINES)
    .join('\n');
}
