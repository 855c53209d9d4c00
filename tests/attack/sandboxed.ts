import { execFileSync } from 'node:child_process';
import { randomInt, randomUUID } from 'node:crypto';
import { readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { SandboxCommand, SandboxProfile } from '@palyra/sandbox';
import { afterAll, beforeAll, describe } from 'vitest';
import { type ProfileChanges, sandboxProfile } from '../sandbox-profile.ts';
import { type Daemon, startDaemon } from './sandbox-daemon.ts';
import { IS_ROOT, makeWhereabouts, OWN_UID, type Whereabouts } from './whereabouts.ts';

export { IS_ROOT };

/** Whose it is, and a daemon of theirs. */
export interface Place extends Whereabouts {
  readonly daemon: Daemon;
}

const PATIENCE_MS = 20_000;

/** The same attacks against a daemon of an ordinary user and, where we are root, against one of root. */
export function describeBothWays(body: (place: () => Place) => void): void {
  describeOrdinary(body);
  describeRoot(body);
}

export function describeOrdinary(body: (place: () => Place) => void): void {
  describe('started by an ordinary user', () => {
    withPlace(IS_ROOT ? randomInt(70_000, 100_000) : OWN_UID, body);
  });
}

export function describeRoot(body: (place: () => Place) => void): void {
  describe.runIf(IS_ROOT)('started by root [needs: root]', () => {
    withPlace(0, body);
  });
}

export type { ProfileChanges } from '../sandbox-profile.ts';

export function tierC({ workspace }: Pick<Place, 'workspace'>, changes: ProfileChanges = {}): SandboxProfile {
  // Nothing here takes long: what hangs is found soon.
  return sandboxProfile(workspace, { ...changes, limits: { wallMs: PATIENCE_MS, ...changes.limits } });
}

export function tierB(place: Pick<Place, 'workspace'>, changes: ProfileChanges = {}): SandboxProfile {
  return tierC(place, { tier: 'B', ...changes });
}

/** Exchanges a directory with a link, again and again, in one step each: `python(SWAP, directory, link)`. */
export const SWAP = `
import ctypes, sys, time
libc = ctypes.CDLL(None)
a, b = (each.encode() for each in sys.argv[1:3])
while True:
  libc.renameat2(-100, a, -100, b, 2)
  time.sleep(0.0005)
`;

export const sh = (text: string): SandboxCommand => ({ argv: ['sh', '-c', text] });

export const python = (text: string, ...more: readonly string[]): SandboxCommand => ({
  argv: ['python3', '-c', text, ...more],
});

/** A C program of ours, compiled into the workspace. */
export function compile({ workspace }: Pick<Place, 'workspace'>, name: string): string {
  const source = fileURLToPath(new URL(`programs/${name}.c`, import.meta.url));
  execFileSync('cc', ['-O1', '-pthread', '-o', join(workspace, name), source]);
  return join(workspace, name);
}

/** Unlike anything else on the machine: for arguments by which processes are found, and for secrets. */
export function uniqueMark(): string {
  return `mark-${randomUUID()}`;
}

/** Again and again, for as long as anything may take. */
export async function until(what: string, condition: () => boolean): Promise<void> {
  const deadline = Date.now() + PATIENCE_MS;
  while (!condition()) {
    if (Date.now() > deadline) throw new Error(`It never came true that ${what}.`);
    await delay(5);
  }
}

/** Pids of live processes that have this among their arguments. */
export function processesWith(marker: string): readonly number[] {
  return processIds().filter((pid) => textOf(`/proc/${pid}/cmdline`).includes(marker) && stateOf(pid) !== 'Z');
}

/** Pids of live bubblewraps that have this place mounted. */
export function boxesWith(workspace: string): readonly number[] {
  const isBox = (pid: number) =>
    textOf(`/proc/${pid}/comm`) === 'bwrap\n' && textOf(`/proc/${pid}/mountinfo`).includes(workspace);
  return processIds().filter(isBox);
}

export function processIds(): readonly number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number);
}

/** A field of /proc/PID/status; empty when the process is gone. */
export function statusOf(pid: number, field: string): string {
  return new RegExp(`^${field}:[ \\t]*(.*)$`, 'm').exec(textOf(`/proc/${pid}/status`))?.[1] ?? '';
}

export function childrenOf(parent: number): readonly number[] {
  return processIds().filter((pid) => statusOf(pid, 'PPid') === String(parent));
}

/** Below every hierarchy, those that some launcher with this pid made. */
export function cgroupsOf(launcherPid: number, under = '/sys/fs/cgroup'): readonly string[] {
  return directoriesIn(under).flatMap((name) => {
    const path = join(under, name);
    const isOurs = name.startsWith('palyra-') && name.split('-').includes(String(launcherPid));
    return isOurs ? [path] : cgroupsOf(launcherPid, path);
  });
}

export function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}

function directoriesIn(path: string): readonly string[] {
  try {
    return readdirSync(path, { withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .map(({ name }) => name);
  } catch {
    return [];
  }
}

function stateOf(pid: number): string {
  return statusOf(pid, 'State').slice(0, 1);
}

function withPlace(uid: number, body: (place: () => Place) => void): void {
  let place: Place | undefined;
  beforeAll(async () => {
    const made = makeWhereabouts(uid);
    place = { ...made, daemon: await startDaemon(made) };
  });
  afterAll(async () => {
    await place?.daemon.close();
    if (place !== undefined) rmSync(place.base, { recursive: true, force: true, maxRetries: 3 });
  });
  body(() => place ?? missing());
}

function missing(): never {
  throw new Error('The place is made before the first test.');
}
