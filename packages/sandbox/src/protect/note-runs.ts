import { randomBytes } from 'node:crypto';
import { closeSync, mkdirSync, openSync, unlinkSync, writeSync } from 'node:fs';
import { open, rename } from 'node:fs/promises';
import { join } from 'node:path';
import type { LauncherFacts } from '../launcher/start-launcher.ts';
import { ownProcess } from './mount-points.ts';
import { fingerprintOf, type Snapshot, writeSnapshot } from './snapshot.ts';

/** Says on the disk what runs, for the case that we are killed meanwhile. */
export interface RunNotes {
  /** Before the first instruction of a command. Throws when it cannot be written. Returns how to take it back. */
  begin(snapshot: Snapshot, times: RunTimes): Promise<() => void>;
  /** When nothing will run any more. */
  close(): void;
}

export interface RunTimes {
  readonly atMs: number;
  /** When it is certainly over. */
  readonly untilMs: number | undefined;
}

/** What a note says while something runs. */
export interface RunState extends RunTimes {
  readonly launcher: Pick<LauncherFacts, 'pid' | 'startTicks'> | undefined;
}

/** Every note is as long, so that a new one leaves nothing of the old one. */
const NOTE_LENGTH = 160;
const MOST_IDLE = 16;

interface Note {
  readonly name: string;
  readonly fd: number;
  fingerprint: string;
  /** Those that run, and those that are about to. */
  users: number;
  running: number;
  times: RunTimes;
  /** Two that begin at once are one after the other. */
  turn: Promise<unknown>;
}

/**
 * SECURITY: T-15, T-45 — whoever kills us prevents the look after a command; the next daemon makes it up. How things were is
 * written when that has changed; that something runs is written into a file that is open, a few microseconds each time.
 */
export function createRunNotes(directory: string, launcher: RunState['launcher']): RunNotes {
  /** By what may be written. The last in the map is the last that was used. */
  const notes = new Map<string, Note>();

  function noteOf(key: string): Note {
    const known = notes.get(key);
    notes.delete(key);
    const note = known ?? openNote();
    notes.set(key, note);
    const idle = [...notes].filter(([, each]) => each.users === 0 && each !== note);
    for (const [other] of idle.slice(0, -MOST_IDLE)) drop(other);
    return note;
  }

  function drop(key: string): void {
    const note = notes.get(key);
    notes.delete(key);
    if (note === undefined) return;
    closeSync(note.fd);
    for (const suffix of ['state', 'json']) remove(join(directory, `${note.name}.${suffix}`));
  }

  function openNote(): Note {
    mkdirSync(directory, { recursive: true, mode: 0o700 });
    const { pid, startTicks } = ownProcess();
    const name = `${pid}-${startTicks}-${randomBytes(8).toString('hex')}`;
    const fd = openSync(join(directory, `${name}.state`), 'wx', 0o600);
    const times = { atMs: 0, untilMs: undefined };
    return { name, fd, fingerprint: '', users: 0, running: 0, times, turn: Promise.resolve() };
  }

  async function begin(note: Note, snapshot: Snapshot, times: RunTimes): Promise<void> {
    // Of those that run side by side the first says how things were.
    if (note.running === 0) {
      const fingerprint = fingerprintOf(snapshot);
      if (fingerprint !== note.fingerprint) await save(join(directory, `${note.name}.json`), writeSnapshot(snapshot));
      note.fingerprint = fingerprint;
    }
    note.times = note.running === 0 ? times : together(note.times, times);
    say(note.fd, { ...note.times, launcher });
    note.running += 1;
  }

  return {
    async begin(snapshot, times) {
      const note = noteOf(JSON.stringify(snapshot.place));
      note.users += 1;
      const begun = note.turn.then(() => begin(note, snapshot, times));
      note.turn = begun.catch(() => undefined);
      try {
        await begun;
      } catch (error) {
        note.users -= 1;
        throw error;
      }
      return () => {
        note.users -= 1;
        note.running -= 1;
        if (note.running === 0) say(note.fd, {});
      };
    },
    close() {
      for (const [key, { users }] of notes) if (users === 0) drop(key);
    },
  };
}

function together(one: RunTimes, other: RunTimes): RunTimes {
  const isOpen = one.untilMs === undefined || other.untilMs === undefined;
  const untilMs = isOpen ? undefined : Math.max(one.untilMs ?? 0, other.untilMs ?? 0);
  return { atMs: Math.min(one.atMs, other.atMs), untilMs };
}

function say(fd: number, state: RunState | Record<string, never>): void {
  writeSync(fd, JSON.stringify(state).padEnd(NOTE_LENGTH), 0);
}

/** On the disk, and whole, or not there. */
async function save(path: string, text: string): Promise<void> {
  const temporary = `${path}.new`;
  const file = await open(temporary, 'w', 0o600);
  try {
    await file.writeFile(text);
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(temporary, path);
}

function remove(path: string): void {
  try {
    unlinkSync(path);
  } catch {
    // It goes with the next start.
  }
}
