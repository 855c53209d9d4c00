import { randomUUID } from 'node:crypto';
import {
  lstatSync,
  mkdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { hostname } from 'node:os';
import { dirname } from 'node:path';
import { identify, isAlive } from './process-identity.mjs';
import { SetupError } from './setup-error.mjs';

/**
 * @typedef {import('./process-identity.mjs').ProcessIdentity} ProcessIdentity
 * @typedef {object} Lock
 * @property {string} token
 * @property {string} where ids mean something only to those who share this
 * @property {ProcessIdentity[]} holders the set-up, and the last command it started
 */

const BEAT_MS = 2000;
const SILENT_MS = 60_000;
const POLL_MS = 200;
const PATIENCE_MS = 30 * 60_000;

/**
 * Runs `work` while holding a lock file; a second set-up waits for the first.
 * `work` tells of each command it starts: one that outlives a killed set-up still holds the lock.
 * A lock whose processes are gone is taken over; where that cannot be seen (another container on the same checkout, a
 * file no set-up wrote), a lock that has not been touched for a minute is.
 * @template T
 * @param {{ path: string, onWait: (holder: number) => void }} lock
 * @param {(onChild: (pid: number) => void) => Promise<T>} work
 * @returns {Promise<T>}
 */
export async function withLock({ path, onWait }, work) {
  const self = identify(process.pid);
  const mine = { token: randomUUID(), where: processSpace(), holders: [self] };
  await acquire({ path, onWait }, mine);
  const isMine = () => read(path)?.token === mine.token;
  const beat = setInterval(() => touch(path), BEAT_MS);
  try {
    return await work((pid) => {
      if (isMine()) writeFileSync(path, JSON.stringify({ ...mine, holders: [self, identify(pid)] }));
    });
  } finally {
    clearInterval(beat);
    if (isMine()) rmSync(path, { force: true });
  }
}

/**
 * @param {{ path: string, onWait: (holder: number) => void }} lock
 * @param {Lock} mine
 */
async function acquire({ path, onWait }, mine) {
  mkdirSync(dirname(path), { recursive: true });
  const deadline = Date.now() + PATIENCE_MS;
  let told = false;
  while (!tryCreate(path, JSON.stringify(mine))) {
    const lock = read(path);
    // Given back meanwhile.
    if (lock === undefined) continue;
    if (isStale(path, lock)) {
      takeAway(path, lock.token);
      continue;
    }
    const pid = lock.holders.find(isAlive)?.pid ?? 0;
    if (!told) onWait(pid);
    told = true;
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    if (Date.now() > deadline) {
      throw new SetupError({
        code: 'setup.lock_timeout',
        message: `another set-up (pid ${pid}) has held ${path} for half an hour`,
        fix: 'end that process, or remove the file when no set-up is running.',
      });
    }
  }
}

/**
 * @param {string} path
 * @param {string} content
 */
function tryCreate(path, content) {
  try {
    writeFileSync(path, content, { flag: 'wx' });
    return true;
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return false;
    throw error;
  }
}

/**
 * `undefined` when there is none; throws `SetupError` when it is no file: reading a pipe would never end.
 * @param {string} path
 * @returns {Lock | undefined}
 */
function read(path) {
  const stat = lstatSync(path, { throwIfNoEntry: false });
  if (stat === undefined) return undefined;
  if (!stat.isFile()) {
    throw new SetupError({
      code: 'setup.lock_unusable',
      message: `${path} is not a file, so no set-up made it`,
      fix: `remove ${path}, then run this again.`,
    });
  }
  try {
    return parse(readFileSync(path, 'utf8'));
  } catch (error) {
    return codeOf(error) === 'ENOENT' ? undefined : UNKNOWN;
  }
}

/**
 * Half written (by a set-up that is just starting, or died there), by an older set-up, or by somebody else: it has no
 * process to ask about.
 * @type {Lock}
 */
const UNKNOWN = { token: '', where: 'nowhere', holders: [] };

/**
 * @param {string} text
 * @returns {Lock}
 */
function parse(text) {
  const { token, where, holders } = JSON.parse(text);
  const isLock =
    typeof token === 'string' && typeof where === 'string' && Array.isArray(holders) && holders.every(isIdentity);
  return isLock ? { token, where, holders } : UNKNOWN;
}

/** @param {unknown} value */
function isIdentity(value) {
  const { pid } = /** @type {Partial<ProcessIdentity>} */ (value ?? {});
  // 0 and below would ask about whole groups of processes, our own among them.
  return typeof pid === 'number' && Number.isInteger(pid) && pid > 0;
}

/**
 * @param {string} path
 * @param {Lock} lock
 */
function isStale(path, { where, holders }) {
  if (where === processSpace()) return !holders.some(isAlive);
  const stat = lstatSync(path, { throwIfNoEntry: false });
  // A time in the future is none of a set-up that is at work either.
  return stat !== undefined && Math.abs(Date.now() - stat.mtimeMs) > SILENT_MS;
}

/**
 * Two waiters may both see the stale lock, and the slower must not remove the faster one's new lock: so it is moved
 * aside first, and put back when it is not the one that was judged.
 * @param {string} path
 * @param {string} token
 */
function takeAway(path, token) {
  const aside = `${path}.${process.pid}`;
  try {
    renameSync(path, aside);
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return;
    throw error;
  }
  if (read(aside)?.token === token) rmSync(aside, { force: true });
  else renameSync(aside, path);
}

/** @param {unknown} error */
function codeOf(error) {
  return /** @type {NodeJS.ErrnoException} */ (error).code;
}

/** @param {string} path */
function touch(path) {
  try {
    const now = new Date();
    utimesSync(path, now, now);
  } catch {
    // Someone removed it by hand; the work goes on and ends without it.
  }
}

/** Process ids mean something only to those who share this. */
function processSpace() {
  try {
    return `${hostname()} ${readlinkSync('/proc/self/ns/pid')}`;
  } catch {
    return hostname();
  }
}
