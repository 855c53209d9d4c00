import { readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { isFileError } from './anchored-files.ts';
import { isRunning } from './mount-points.ts';
import type { RunState } from './note-runs.ts';
import { readSnapshot, type Snapshot } from './snapshot.ts';

/** Commands that ran when a daemon was killed, in one place. */
export interface LeftRun extends RunState {
  /** Undefined when it cannot be read: then nothing can be put back. */
  readonly snapshot: Snapshot | undefined;
  /** What was noted is dealt with. */
  forget(): void;
}

/** Notes of daemons that are gone. Those of which nothing ran are removed. */
export function leftRuns(directory: string): readonly LeftRun[] {
  const names = namesIn(directory).map((name) => NAME.exec(name));
  const dead = names.flatMap((found) => {
    const { base, pid, ticks } = found?.groups ?? {};
    return base !== undefined && !isRunning({ pid: Number(pid), startTicks: Number(ticks) }) ? [base] : [];
  });
  return [...new Set(dead)].flatMap((base) => {
    const forget = () => {
      for (const suffix of ['state', 'json', 'json.new']) rmSync(join(directory, `${base}.${suffix}`), { force: true });
    };
    const state = stateIn(textOf(join(directory, `${base}.state`)));
    if (state === undefined) {
      forget();
      return [];
    }
    return [{ ...state, snapshot: readSnapshot(textOf(join(directory, `${base}.json`))), forget }];
  });
}

/** A launcher ends with its daemon, and takes along what it started: that takes a moment. */
const MOST_PAUSES = 500;
const PAUSE_MS = 20;

/** SECURITY: T-16 — what is written after the look would stay. False when it does not end. */
export async function launcherGone({ launcher }: Pick<LeftRun, 'launcher'>): Promise<boolean> {
  for (let pause = 0; pause < MOST_PAUSES; pause += 1) {
    if (launcher === undefined || !isRunning(launcher)) return true;
    await delay(PAUSE_MS);
  }
  return false;
}

const NAME = /^(?<base>(?<pid>\d+)-(?<ticks>\d+)-[0-9a-f]+)\.(?:state|json|json\.new)$/;

/** Undefined: nothing ran. What cannot be read was being written, and nothing ran yet. */
function stateIn(text: string): RunState | undefined {
  try {
    const read = JSON.parse(text) as Partial<RunState>;
    if (typeof read.atMs !== 'number') return undefined;
    return { atMs: read.atMs, untilMs: read.untilMs, launcher: read.launcher };
  } catch {
    return undefined;
  }
}

function textOf(path: string): string {
  return attempt(() => readFileSync(path, 'utf8')) ?? '';
}

function namesIn(directory: string): readonly string[] {
  return attempt(() => readdirSync(directory)) ?? [];
}

function attempt<T>(act: () => T): T | undefined {
  try {
    return act();
  } catch (error) {
    if (isFileError(error)) return undefined;
    throw error;
  }
}
