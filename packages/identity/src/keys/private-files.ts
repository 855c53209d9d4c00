import { randomBytes } from 'node:crypto';
import {
  closeSync,
  constants,
  fstatSync,
  fsyncSync,
  linkSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  type Stats,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { IdentityError } from '../identity-error.ts';

/** Files of mode 0600 in directories of mode 0700, of this user alone. */

/** Makes the directory when it is missing. Throws `identity.key_unsafe`. */
export function ensurePrivateDirectory(path: string): void {
  try {
    mkdirSync(path, { recursive: true, mode: 0o700 });
  } catch (cause) {
    throw notWritten(cause);
  }
  checkPrivateDirectory(path);
}

/** Throws `identity.key_unsafe`, `identity.key_missing`. */
export function checkPrivateDirectory(path: string): void {
  const stat = lstatSync(path, { throwIfNoEntry: false });
  if (stat === undefined) throw missing();
  // SECURITY: T-40 — who can enter the directory reads the keys, and who can write it or owns a link on the way replaces them.
  if (!stat.isDirectory() || isOpenToOthers(stat)) {
    throw unsafe('A directory of keys is open to other users, or is not theirs alone.', 'Run: chmod 700 on it.');
  }
}

/** Throws `identity.key_missing`, `identity.key_unsafe`. Judged and read through one descriptor: what was judged is what is read. */
export function readPrivateFile(path: string): string {
  let file: number;
  try {
    // Not blocking: a pipe in the place of a key must not hold the program up.
    file = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch (cause) {
    const code = cause instanceof Error && 'code' in cause ? cause.code : undefined;
    if (code === 'ENOENT') throw missing(cause);
    // SECURITY: T-40 — whoever owns a link decides later which key is read.
    throw unsafe('A key file is a link, or cannot be opened.', 'Put the file itself in its place, of mode 600.', cause);
  }
  try {
    if (fstatSync(file).nlink > 1) removeDrafts(path, fstatSync(file));
    const stat = fstatSync(file);
    // SECURITY: T-40 — who can read the key is us; one hard link more is a second way to it.
    if (!stat.isFile() || isOpenToOthers(stat) || stat.nlink !== 1) {
      throw unsafe(
        'A key file is open to other users.',
        'Run: chmod 600 on it, and see who owns it; if others could read it, replace the key.',
      );
    }
    return readFileSync(file, 'utf8');
  } finally {
    closeSync(file);
  }
}

/** Throws `identity.not_written`, also when there is one: a key is never overwritten. */
export function createPrivateFile(path: string, text: string): void {
  write(path, text, (draft) => linkSync(draft, path));
}

/** At once and for good: readers find the old text or the new one. Throws `identity.not_written`. */
export function replacePrivateFile(path: string, text: string): void {
  write(path, text, (draft) => renameSync(draft, path));
}

function write(path: string, text: string, put: (draft: string) => void): void {
  const draft = `${path}.${randomBytes(6).toString('hex')}.draft`;
  try {
    const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;
    const file = openSync(draft, flags, 0o600);
    try {
      writeFileSync(file, text);
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
    put(draft);
  } catch (cause) {
    throw notWritten(cause);
  } finally {
    rmSync(draft, { force: true });
  }
  syncDirectory(dirname(path));
}

/** What was left where the power went between the two names that a new file has for a moment: its draft is this very file. */
function removeDrafts(path: string, { dev, ino }: Stats): void {
  const [directory, name] = [dirname(path), basename(path)];
  for (const entry of readdirSync(directory)) {
    if (!entry.startsWith(`${name}.`) || !DRAFT.test(entry)) continue;
    const stat = lstatSync(join(directory, entry), { throwIfNoEntry: false });
    if (stat?.dev === dev && stat.ino === ino) rmSync(join(directory, entry), { force: true });
  }
}

const DRAFT = /\.[0-9a-f]{12}\.draft$/;

function syncDirectory(path: string): void {
  const directory = openSync(path, constants.O_RDONLY);
  try {
    fsyncSync(directory);
  } finally {
    closeSync(directory);
  }
}

/** Of a file that is there; another one has another. */
export function fileStamp(path: string): string {
  const stat = lstatSync(path, { throwIfNoEntry: false });
  return stat === undefined ? '' : `${stat.dev} ${stat.ino} ${stat.size} ${stat.mtimeMs} ${stat.ctimeMs}`;
}

function isOpenToOthers({ mode, uid }: Stats): boolean {
  return (mode & 0o077) !== 0 || uid !== process.geteuid?.();
}

function missing(cause?: unknown): IdentityError {
  return new IdentityError('identity.key_missing', 'A file of the identity directory is not there.', {
    fix: 'Run `palyra init` for a new home, or bring the identity directory back from a backup.',
    ...(cause === undefined ? {} : { cause }),
  });
}

function unsafe(message: string, fix: string, cause?: unknown): IdentityError {
  return new IdentityError('identity.key_unsafe', message, { fix, ...(cause === undefined ? {} : { cause }) });
}

function notWritten(cause: unknown): IdentityError {
  return new IdentityError('identity.not_written', 'A file of the identity directory could not be made.', {
    fix: 'Look whether there is one already, whether the directory may be written and whether the disk is full.',
    cause,
  });
}
