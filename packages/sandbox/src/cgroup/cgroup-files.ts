import {
  accessSync,
  closeSync,
  constants,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmdirSync,
  statSync,
  writeSync,
} from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';

/** What detection looks at. Nothing here throws: what cannot be read is not there. */
export interface CgroupFiles {
  /** Of this process; 0 is root. */
  readonly uid: number;
  readText(path: string): string | undefined;
  exists(path: string): boolean;
  isWritable(path: string): boolean;
  ownerUid(path: string): number | undefined;
}

/** What preparing and cleaning up change. `false`: the kernel said no. */
export interface CgroupChanges extends CgroupFiles {
  /** Whose processes are ours: it and what it started. */
  readonly pid: number;
  /** In which that number and all others mean something. */
  readonly pidNamespace: string;
  /** Names of the directories directly in it. */
  directoriesIn(path: string): readonly string[];
  write(path: string, text: string): boolean;
  makeDirectory(path: string): boolean;
  removeDirectory(path: string): boolean;
  sendKill(pid: number): void;
  /** Lets killed processes die. */
  pause(): Promise<void>;
}

const PAUSE_MS = 5;

export function hostCgroupFiles(ours: number = process.pid): CgroupChanges {
  return {
    uid: process.geteuid?.() ?? -1,
    pid: ours,
    pidNamespace: ownPidNamespace(),
    readText: (path) => attempt(() => readFileSync(path, 'utf8')),
    exists: (path) => existsSync(path),
    isWritable: (path) => succeeds(() => accessSync(path, constants.W_OK)),
    ownerUid: (path) => attempt(() => statSync(path).uid),
    directoriesIn: (path) =>
      attempt(() =>
        readdirSync(path, { withFileTypes: true })
          .filter((entry) => entry.isDirectory())
          .map(({ name }) => name),
      ) ?? [],
    // Without O_CREAT: a setting that the kernel does not have must fail, not become an ordinary file.
    write: (path, text) => succeeds(() => writeExisting(path, text)),
    makeDirectory: (path) => succeeds(() => mkdirSync(path, { mode: 0o755 })),
    removeDirectory: (path) => succeeds(() => rmdirSync(path)),
    sendKill: (pid) => {
      attempt(() => process.kill(pid, 'SIGKILL'));
    },
    pause: () => pause(PAUSE_MS),
  };
}

/** Its number; `0` where the kernel does not say. */
export function ownPidNamespace(): string {
  return /\d+/.exec(attempt(() => readlinkSync('/proc/self/ns/pid')) ?? '')?.[0] ?? '0';
}

function writeExisting(path: string, text: string): void {
  const file = openSync(path, constants.O_WRONLY);
  try {
    writeSync(file, text);
  } finally {
    closeSync(file);
  }
}

function attempt<T>(act: () => T): T | undefined {
  try {
    return act();
  } catch {
    return undefined;
  }
}

function succeeds(act: () => void): boolean {
  try {
    act();
    return true;
  } catch {
    return false;
  }
}
