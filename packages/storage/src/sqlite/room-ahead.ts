import {
  closeSync,
  constants,
  fdatasyncSync,
  fstatSync,
  ftruncateSync,
  openSync,
  statfsSync,
  writeSync,
} from 'node:fs';
import type { Connection } from './connection.ts';
import { canEmptyBeside, LOG_PAGES } from './empty-log.ts';
import { type Identity, isSame } from './files-in-place.ts';

/** Keeps zeros behind the last frame of the write-ahead log, where the next commits will come. */
export interface RoomAhead {
  /** After a commit, when those who asked for it have their answers. Never throws: who finds no room makes the file longer. */
  look(): void;
  /** The log was cut: what was known of its length holds no more. */
  forget(): void;
}

export interface RoomAheadDeps {
  readonly connection: Pick<Connection, 'query'>;
  /** Its version. */
  readonly sqlite: string | undefined;
  /** Undefined when it is not the log that the writer has open. */
  openLog(): LogFile | undefined;
}

export interface LogFile {
  bytes(): number;
  /** What is left on its disk for others than root. */
  free(): number;
  /** Behind the last byte, whatever was known of its length. Returns how many were written. */
  append(zeros: Uint8Array): number;
  cut(bytes: number): void;
  flush(): void;
  close(): void;
}

const COMMITS_BETWEEN_LOOKS = 4;
/** When it has its full length: then only somebody who cuts it makes a difference. */
const COMMITS_WHEN_LONG = 64;
const HEADER_BYTES = 32;
const FRAME_HEADER_BYTES = 24;
/** As much again as there is: a home in which little happens gets little. */
const STEP = { least: 256 * 1024, most: 1024 * 1024 };
/** The last of a disk is for what somebody waits for. */
const LEAST_FREE = 256 * 1024 * 1024;
/** After it could not be done, it is left undone for so many commits. */
const REST_COMMITS = 4096;

const NO_ROOM: RoomAhead = { look: () => undefined, forget: () => undefined };

/**
 * A commit that makes its file longer has what the file system notes of the file to flush as well, which takes as long as
 * all the rest of a flush. So a burst after each start went half as fast until the log had its full length.
 */
export function createRoomAhead({ connection, sqlite, openLog }: RoomAheadDeps): RoomAhead {
  // SECURITY: T-32 — to an SQLite that knows no `noop` it is a word like any other, and it brings the log over: after each
  // fourth commit, and beside other connections, which must not be there.
  if (!canEmptyBeside(sqlite)) return NO_ROOM;
  const frameBytes = FRAME_HEADER_BYTES + Number(connection.query('pragma page_size', []).rows[0]?.['page_size']);
  const longest = HEADER_BYTES + LOG_PAGES * frameBytes;
  let commits = 0;
  let lookAt = COMMITS_BETWEEN_LOOKS;
  let usedBefore = 0;
  let end: number | undefined;

  const makeRoom = (used: number, wanted: number) => {
    const rest = () => {
      lookAt = commits + REST_COMMITS;
    };
    end = undefined;
    const log = openLog();
    if (log === undefined) {
      rest();
      return;
    }
    try {
      const room = whileLocked(connection, () => {
        // Whatever goes wrong from here on would go wrong again.
        rest();
        return lengthen(log, { used, wanted });
      });
      if (room === undefined) return;
      // Now, for nobody waits; the next commit would have it to flush.
      if (room.added > 0) log.flush();
      end = room.end;
      lookAt = commits + COMMITS_BETWEEN_LOOKS;
    } finally {
      log.close();
    }
  };

  return {
    look() {
      commits += 1;
      if (commits < lookAt) return;
      lookAt = commits + (end !== undefined && end >= longest ? COMMITS_WHEN_LONG : COMMITS_BETWEEN_LOOKS);
      try {
        const { log = 0, checkpointed = 0 } = (connection.query('pragma wal_checkpoint(noop)', []).rows[0] ?? {}) as {
          readonly log?: number;
          readonly checkpointed?: number;
        };
        const used = HEADER_BYTES + log * frameBytes;
        // It began anew: perhaps somebody cut it.
        if (used < usedBefore) end = undefined;
        // As much again until the next look, and once more.
        const wanted = Math.min(used + 2 * Math.max(used - usedBefore, 0), longest);
        usedBefore = used;
        // What is brought over completely begins anew with the next commit, and what is full soon does.
        if (log === checkpointed || log >= LOG_PAGES) return;
        if (end === undefined || end < wanted) makeRoom(used, wanted);
      } catch {
        // Another process writes, or something is wrong that the next commit finds as well.
      }
    },
    forget() {
      end = undefined;
      usedBefore = 0;
      lookAt = Math.min(lookAt, commits + COMMITS_BETWEEN_LOOKS);
    },
  };
}

/**
 * SECURITY: T-32 — only whoever holds the write lock adds frames to the log or cuts it, in this process and in others. So
 * behind its last byte nobody else writes meanwhile, and what we added can be taken away again.
 */
function whileLocked<Result>(connection: RoomAheadDeps['connection'], work: () => Result): Result {
  connection.query('begin immediate', []);
  try {
    return work();
  } finally {
    connection.query('rollback', []);
  }
}

/** Returns where the room ends then; undefined when it could not be made. */
function lengthen(log: LogFile, { used, wanted }: { readonly used: number; readonly wanted: number }) {
  const end = log.bytes();
  if (end >= wanted) return { end, added: 0 };
  if (log.free() < LEAST_FREE) return undefined;
  const step = Math.min(Math.max(used, STEP.least), STEP.most);
  if (!appendAll(log, step)) {
    log.cut(end);
    return undefined;
  }
  return { end: end + step, added: step };
}

function appendAll(log: LogFile, bytes: number): boolean {
  const zeros = new Uint8Array(bytes);
  try {
    return log.append(zeros) === bytes;
  } catch {
    return false;
  }
}

/** Only on Linux, where it was measured. */
export function logFile(path: string, identity: () => Identity | undefined): RoomAheadDeps['openLog'] {
  return () => {
    const expected = identity();
    if (process.platform !== 'linux' || expected === undefined) return undefined;
    // SQLite holds no lock on the log itself, so none is lost when this is closed.
    // Without waiting: what took its name may be a pipe, and nobody at its other end.
    const file = openSync(path, constants.O_WRONLY | constants.O_APPEND | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    const log: LogFile = {
      bytes: () => fstatSync(file).size,
      free() {
        const { bavail, bsize } = statfsSync(path);
        return bavail * bsize;
      },
      append: (zeros) => writeSync(file, zeros),
      cut: (bytes) => ftruncateSync(file, bytes),
      flush: () => fdatasyncSync(file),
      close: () => closeSync(file),
    };
    // SECURITY: T-32 — another file that took its name is not ours to write to.
    if (isSame(fstatSync(file), expected)) return log;
    log.close();
    return undefined;
  };
}
