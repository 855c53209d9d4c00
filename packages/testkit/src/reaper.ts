import { chmod, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { beforeEach, onTestFinished, type TestAPI } from 'vitest';
import { markThisProcess } from './process-mark.ts';
import { commandOf, isSameProcess, type ProcessEntry } from './process-table.ts';

export interface Reaper {
  /** `TMPDIR` while the reaper is active: a directory of this test's own. */
  readonly directory: string;
  /**
   * Ends every process the test left, by pid, and removes its temporary directory.
   * Throws `LeftBehind` naming what it found; returns quietly when the test cleaned up after itself.
   */
  finish(): Promise<void>;
}

export interface ReaperOptions {
  /** How long processes that are already ending may take; 500 ms unless told. */
  readonly graceMs?: number;
}

export interface LeftProcess {
  readonly pid: number;
  readonly command: string;
}

export class LeftBehind extends Error {
  readonly processes: readonly LeftProcess[];
  /** Relative to the test's temporary directory. */
  readonly files: readonly string[];

  constructor(processes: readonly LeftProcess[], files: readonly string[]) {
    super(['The test left something behind:', ...describeProcesses(processes), ...describeFiles(files)].join('\n'));
    this.name = 'LeftBehind';
    this.processes = processes;
    this.files = files;
  }
}

const GRACE_MS = 500;
const KILL_DEADLINE_MS = 5_000;
const POLL_MS = 10;
const LISTED_FILES = 20;

let active: Reaper | undefined;

/**
 * Watches one test from here to `finish()`. The mark and `TMPDIR` belong to the whole process, so tests that run
 * concurrently in one file cannot be told apart: a second active reaper is refused. Processes are seen on Linux only.
 */
export async function startReaper({ graceMs = GRACE_MS }: ReaperOptions = {}): Promise<Reaper> {
  if (active !== undefined)
    throw new Error('Another test of this process is being watched; run these tests in sequence.');
  const mark = markThisProcess();
  const before = new Set(mark.marked().map(identity));
  const formerTmpdir = process.env['TMPDIR'];
  const directory = await mkdtemp(join(tmpdir(), 'palyra-test-'));
  // A test may have an ordinary user enter what it made here.
  await chmod(directory, 0o711);
  process.env['TMPDIR'] = directory;

  const left = () => bornSince(before, mark.marked());
  const reaper: Reaper = {
    directory,
    async finish() {
      if (active !== reaper) return;
      active = undefined;
      if (formerTmpdir === undefined) delete process.env['TMPDIR'];
      else process.env['TMPDIR'] = formerTmpdir;

      const hasEndedAll = await until(() => left().length === 0, graceMs);
      const processes = hasEndedAll ? [] : left().map(({ pid }) => ({ pid, command: commandOf(pid) }));
      if (!hasEndedAll) await endAll(left);
      const files = (await readdir(directory, { recursive: true })).toSorted();
      await rm(directory, { recursive: true, force: true, maxRetries: 3 });
      if (processes.length > 0 || files.length > 0) throw new LeftBehind(processes, files);
    },
  };
  active = reaper;
  return reaper;
}

/** What was there belongs to the whole file, such as a palyrad of `beforeAll`; so does what it starts during a test. */
function bornSince(before: ReadonlySet<string>, processes: readonly ProcessEntry[]): ProcessEntry[] {
  const shared = new Set(processes.filter((entry) => before.has(identity(entry))).map(({ pid }) => pid));
  let known: number;
  do {
    known = shared.size;
    for (const { pid, parentPid } of processes) if (shared.has(parentPid)) shared.add(pid);
  } while (shared.size > known);
  return processes.filter(({ pid }) => !shared.has(pid));
}

/** As a fixture: `const test = withReaper(base);` then every test made with it is watched. */
export function withReaper(base: TestAPI): TestAPI<{ reaper: Reaper }> {
  return base.extend<{ reaper: Reaper }>({
    reaper: [
      async ({ task }, use) => {
        if (task.concurrent === true) throw new Error('A watched test cannot be concurrent: see startReaper.');
        const reaper = await startReaper();
        await use(reaper);
        await reaper.finish();
      },
      { auto: true },
    ],
  });
}

/** As a hook for whole files: its check comes last, after other hooks and fixtures have cleaned up. */
export function reapAfterEachTest(options: ReaperOptions = {}): void {
  beforeEach(async () => {
    const reaper = await startReaper(options);
    onTestFinished(() => reaper.finish());
  });
}

/** Again and again: a process may fork between the listing and the kill. */
async function endAll(left: () => ProcessEntry[]): Promise<void> {
  const allGone = await until(() => {
    const remaining = left();
    for (const entry of remaining) kill(entry);
    return remaining.length === 0;
  }, KILL_DEADLINE_MS);
  if (!allGone) {
    throw new Error(
      `Processes survive SIGKILL: ${left()
        .map(({ pid }) => `${pid} ${commandOf(pid)}`)
        .join(', ')}`,
    );
  }
}

function kill(entry: ProcessEntry): void {
  // The pid may have been given to somebody else since it was listed.
  if (!isSameProcess(entry)) return;
  try {
    process.kill(entry.pid, 'SIGKILL');
  } catch {
    // It ended by itself, or may not be signalled; `endAll` looks again and speaks up.
  }
}

async function until(condition: () => boolean, deadlineMs: number): Promise<boolean> {
  const deadline = Date.now() + deadlineMs;
  while (!condition()) {
    if (Date.now() > deadline) return false;
    await delay(POLL_MS);
  }
  return true;
}

function identity({ pid, startTime }: ProcessEntry): string {
  return `${pid}@${startTime}`;
}

function describeProcesses(processes: readonly LeftProcess[]): string[] {
  return processes.map(({ pid, command }) => `  process ${pid}: ${command}`);
}

function describeFiles(files: readonly string[]): string[] {
  const listed = files.slice(0, LISTED_FILES).map((file) => `  file ${file}`);
  return files.length > LISTED_FILES ? [...listed, `  and ${files.length - LISTED_FILES} more files`] : listed;
}
