import { readFileSync } from 'node:fs';

/** `started` tells a process from a later one with the same number, where the system says it (Linux). */
/** @typedef {{ pid: number, started?: string | undefined }} ProcessIdentity */

/**
 * @param {number} pid
 * @returns {ProcessIdentity}
 */
export function identify(pid) {
  return { pid, started: statOf(pid)?.started };
}

/** @param {ProcessIdentity} identity */
export function isAlive({ pid, started }) {
  const stat = statOf(pid);
  if (stat === undefined) return answers(pid);
  // A zombie does nothing any more; where nobody collects the dead (a container without init) it stays for good.
  return stat.state !== 'Z' && (started === undefined || started === stat.started);
}

/** @param {number} pid */
function answers(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return /** @type {NodeJS.ErrnoException} */ (error).code === 'EPERM';
  }
}

/** @param {number} pid */
function statOf(pid) {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The name before the last parenthesis may hold anything.
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
    return { state: fields[0], started: fields[19] };
  } catch {
    return undefined;
  }
}
