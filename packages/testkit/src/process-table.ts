import { readdirSync, readFileSync } from 'node:fs';

/** One line of the process table. `pid` alone is reused by the kernel; with `startTime` it names one process for good. */
export interface ProcessEntry {
  readonly pid: number;
  readonly parentPid: number;
  /** In clock ticks since boot, as the kernel prints it. */
  readonly startTime: string;
}

/** Every live process the kernel shows us; zombies are dead and do not count. Empty where there is no /proc. */
export function listProcesses(): ProcessEntry[] {
  return processIds()
    .map(readEntry)
    .filter((entry) => entry !== undefined);
}

export function isSameProcess(entry: ProcessEntry): boolean {
  return readEntry(entry.pid)?.startTime === entry.startTime;
}

/** Command line as one readable string; a kernel thread or a process that just ended has none. */
export function commandOf(pid: number): string {
  const words = readProc(pid, 'cmdline')?.split('\0').filter(Boolean) ?? [];
  return words.length > 0 ? words.join(' ') : '(no command line)';
}

/** `undefined` when it may not be read: another user's process, or a process that has ended. */
export function environmentOf(pid: number): readonly string[] | undefined {
  return readProc(pid, 'environ')?.split('\0');
}

/** A soft limit as the kernel prints it, for example of `Max msgqueue size`. */
export function softLimitOf(pid: number, title: string): string | undefined {
  const line = readProc(pid, 'limits')
    ?.split('\n')
    .find((candidate) => candidate.startsWith(title));
  return line?.slice(title.length).trim().split(/\s+/)[0];
}

/** Real, effective, saved and filesystem user ids. */
export function userIdsOf(pid: number): readonly number[] {
  const line = /^Uid:\s+(.*)$/m.exec(readProc(pid, 'status') ?? '')?.[1];
  return line === undefined ? [] : line.split(/\s+/).map(Number);
}

export function processIds(): number[] {
  try {
    return readdirSync('/proc').filter(isNumber).map(Number);
  } catch {
    return [];
  }
}

function readEntry(pid: number): ProcessEntry | undefined {
  const stat = readProc(pid, 'stat');
  if (stat === undefined) return undefined;
  // The name in parentheses may hold anything, spaces and parentheses included: the fields begin after the last one.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const [state, parentPid, startTime] = [fields[0], fields[1], fields[19]];
  if (state === 'Z' || state === 'X' || startTime === undefined) return undefined;
  return { pid, parentPid: Number(parentPid), startTime };
}

function readProc(pid: number, file: string): string | undefined {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8');
  } catch {
    return undefined;
  }
}

function isNumber(name: string): boolean {
  return /^\d+$/.test(name);
}
