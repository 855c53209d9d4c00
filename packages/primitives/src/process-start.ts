import { readFileSync, readlinkSync } from 'node:fs';
import { hostname } from 'node:os';

/** Among the fields after the name of the program. */
const START_TIME = 19;

/** In ticks since the machine started: tells a process from a later one with its number. Undefined: there is none, or no /proc. */
export function processStart(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The name of the program comes before, in parentheses, and may hold spaces and parentheses itself.
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[START_TIME];
  } catch {
    return undefined;
  }
}

/** Where numbers of processes mean the same as here: one machine, and one container on it. */
export function processPlace(): string {
  try {
    return `${hostname()} ${readlinkSync('/proc/self/ns/pid')}`;
  } catch {
    return hostname();
  }
}
