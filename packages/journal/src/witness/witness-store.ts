import {
  closeSync,
  constants,
  fsyncSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { type JsonValue, parseJson } from '@palyra/primitives';
import { hexOf, utf8 } from '../format/bytes.ts';
import { checkShape, choice, digest, object, origin, textUpTo } from '../format/check-shape.ts';
import { parseCheckpoint } from '../format/checkpoint.ts';
import type { SignedKeyStatement } from '../format/key-statement.ts';
import { JournalError } from '../journal-error.ts';
import { nodeSha256 } from '../node-crypto.ts';
import { syncDirectory } from '../sync-directory.ts';
import { keyStatements } from '../verify/written-log.ts';
import type { CosignRequest } from './cosign-request.ts';
import { holdLock } from './witness-lock.ts';

/** The largest checkpoint of a log that a witness saw, with what it needs to judge the next. */
export interface Remembered {
  readonly origin: string;
  /** Hexadecimal. */
  readonly root_key: string;
  readonly note: string;
  readonly keys: readonly SignedKeyStatement[];
}

/** Two signed checkpoints that cannot be of one log: worth keeping, because their signer cannot deny them. */
export interface Evidence {
  readonly remembered: Remembered;
  readonly presented: CosignRequest;
}

export interface HeldMemory {
  readonly remembered: Remembered | undefined;
  /** Durable when it returns. */
  remember(seen: Remembered): void;
  keepEvidence(evidence: Evidence): void;
}

export interface WitnessStore {
  /** Nobody else changes what is remembered of this log until the act is over. Throws `journal.witness_store`. */
  holding<Result>(origin: string, act: (memory: HeldMemory) => Promise<Result>): Promise<Result>;
}

const FORMAT = 'palyra.witness/1';
const MAX_MEMORY = 16 * 1024 * 1024;
/** Enough to show what somebody did, and no way to fill the disk. */
const MAX_EVIDENCE = 64;

/** One file for each log in a directory of this user alone. Throws `journal.witness_store`. */
export function createFileWitnessStore(directory: string): WitnessStore {
  return {
    async holding(name, act) {
      ensureDirectory(directory);
      const stem = join(directory, hexOf(nodeSha256(utf8(name))));
      const release = holdLock(`${stem}.lock`);
      try {
        return await act({
          remembered: recall(`${stem}.json`, name),
          remember: (seen) => write(`${stem}.json`, { format: FORMAT, ...seen }),
          keepEvidence: (evidence) => keepEvidence(stem, evidence),
        });
      } finally {
        release();
      }
    },
  };
}

/** Throws `journal.witness_store` when others could change what is in it. */
export function ensureDirectory(directory: string): void {
  try {
    mkdirSync(directory, { recursive: true, mode: 0o700 });
  } catch (cause) {
    throw fault('The directory of the witness cannot be made.', 'Choose another with --store DIR.', cause);
  }
  const stat = lstatSync(directory);
  // SECURITY: T-53 — whoever can replace the memory of a witness makes it forget.
  if (!stat.isDirectory() || stat.uid !== process.geteuid?.() || (stat.mode & 0o022) !== 0) {
    throw fault('Others can change the directory of the witness.', 'Give one that is yours alone: chmod 700.');
  }
}

const memory = object<Remembered & { readonly format: typeof FORMAT }>({
  format: choice(FORMAT),
  origin,
  root_key: digest,
  note: textUpTo(64 * 1024),
  keys: keyStatements,
});

function recall(path: string, name: string): Remembered | undefined {
  const text = readOrNothing(path);
  if (text === undefined) return undefined;
  // SECURITY: T-53 — a memory that cannot be read is not an empty one: the next log would be believed at first sight.
  const damaged = (cause?: unknown) =>
    fault('What this witness remembers of the log is damaged.', 'Bring the file back from a backup.', cause);
  let value: JsonValue;
  try {
    value = parseJson(text, { maxLength: MAX_MEMORY });
  } catch (cause) {
    throw damaged(cause);
  }
  const { format: _, ...remembered } = checkShape(value, memory, () => damaged());
  if (remembered.origin !== name || !isAbout(name, remembered.note)) throw damaged();
  return remembered;
}

function isAbout(name: string, note: string): boolean {
  try {
    return parseCheckpoint(note).checkpoint.origin === name;
  } catch {
    return false;
  }
}

function readOrNothing(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch (cause) {
    if (cause instanceof Error && 'code' in cause && cause.code === 'ENOENT') return undefined;
    throw fault('What this witness remembers cannot be read.', 'Check the permissions of its directory.', cause);
  }
}

function keepEvidence(stem: string, evidence: Evidence): void {
  const prefix = `${stem}.evidence-`;
  const path = `${prefix}${hexOf(nodeSha256(utf8(evidence.presented.note))).slice(0, 16)}.json`;
  const directory = join(stem, '..');
  const kept = readdirSync(directory).filter((name) => join(directory, name).startsWith(prefix));
  if (kept.length < MAX_EVIDENCE) write(path, { format: 'palyra.evidence/1', ...evidence });
}

/** Beside its place first, on the disk, and then in its place at once: a crash leaves the old one or the new one. */
function write(path: string, value: object): void {
  const temporary = `${path}.new`;
  try {
    rmSync(temporary, { force: true });
    const file = openSync(temporary, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL, 0o600);
    try {
      writeFileSync(file, `${JSON.stringify(value)}\n`);
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
    renameSync(temporary, path);
    syncDirectory(join(path, '..'));
  } catch (cause) {
    throw fault('What the witness saw could not be kept.', 'Look whether the disk is full.', cause);
  }
}

function fault(message: string, fix: string, cause?: unknown): JournalError {
  return new JournalError('journal.witness_store', message, { fix, ...(cause === undefined ? {} : { cause }) });
}
