import { randomUUID } from 'node:crypto';
import {
  mkdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { hostname } from 'node:os';
import { dirname } from 'node:path';
import { SetupError } from './setup-error.mjs';

const BEAT_MS = 2000;
const SILENT_MS = 60_000;
const POLL_MS = 200;
const PATIENCE_MS = 30 * 60_000;

/**
 * Runs `work` while holding a lock file; a second set-up waits for the first.
 * A lock whose process is gone is taken over; where that cannot be seen (another container on the same checkout), a
 * lock that has not been touched for a minute is.
 * @template T
 * @param {{ path: string, onWait: (holder: number) => void }} lock
 * @param {() => Promise<T>} work
 * @returns {Promise<T>}
 */
export async function withLock({ path, onWait }, work) {
  const token = await acquire(path, onWait);
  const beat = setInterval(() => touch(path), BEAT_MS);
  try {
    return await work();
  } finally {
    clearInterval(beat);
    if (read(path)?.token === token) rmSync(path, { force: true });
  }
}

/**
 * @param {string} path
 * @param {(holder: number) => void} onWait
 */
async function acquire(path, onWait) {
  mkdirSync(dirname(path), { recursive: true });
  const token = randomUUID();
  const mine = JSON.stringify({ token, pid: process.pid, where: processSpace() });
  const deadline = Date.now() + PATIENCE_MS;
  let told = false;
  while (!tryCreate(path, mine)) {
    const holder = read(path);
    if (holder !== undefined && isStale(path, holder)) takeAway(path, holder.token);
    else {
      if (!told) onWait(holder?.pid ?? 0);
      told = true;
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    }
    if (Date.now() > deadline) {
      throw new SetupError({
        code: 'setup.lock_timeout',
        message: `another set-up (pid ${holder?.pid}) has held ${path} for half an hour`,
        fix: 'end that process, or remove the file when no set-up is running.',
      });
    }
  }
  return token;
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
    if (/** @type {NodeJS.ErrnoException} */ (error).code === 'EEXIST') return false;
    throw error;
  }
}

/**
 * @param {string} path
 * @returns {{ token: string, pid: number, where: string } | undefined}
 */
function read(path) {
  try {
    const text = readFileSync(path, 'utf8');
    // A holder that died between creating and writing left an empty file: it has no process to ask about.
    return text === '' ? { token: '', pid: 0, where: 'nowhere' } : JSON.parse(text);
  } catch {
    return undefined;
  }
}

/**
 * @param {string} path
 * @param {{ pid: number, where: string }} holder
 */
function isStale(path, holder) {
  if (holder.where === processSpace()) return !isAlive(holder.pid);
  try {
    return Date.now() - statSync(path).mtimeMs > SILENT_MS;
  } catch {
    return false;
  }
}

/** @param {number} pid */
function isAlive(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return /** @type {NodeJS.ErrnoException} */ (error).code === 'EPERM';
  }
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
  } catch {
    return;
  }
  if (read(aside)?.token === token) rmSync(aside, { force: true });
  else renameSync(aside, path);
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
