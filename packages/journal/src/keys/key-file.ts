import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import {
  closeSync,
  constants,
  fsyncSync,
  linkSync,
  lstatSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  type Stats,
  writeFileSync,
} from 'node:fs';
import { dirname } from 'node:path';
import type { Signer } from '../format/crypto.ts';
import { JournalError } from '../journal-error.ts';
import { syncDirectory } from '../sync-directory.ts';

/** Ed25519 keys as PKCS #8 files of mode 0600, until there is a better place for them. */

/** Makes a key and its file. Throws `journal.invalid_key` when there is one already: a key is never overwritten. */
export function createKeyFile(path: string): Signer {
  const { privateKey } = generateKeyPairSync('ed25519');
  writeNew(path, privateKey.export({ type: 'pkcs8', format: 'pem' }) as string);
  return signerOf(privateKey);
}

/** Puts a new key in the place of the old one, at once and for good: readers find one or the other. */
export function replaceKeyFile(newPath: string, path: string): void {
  renameSync(newPath, path);
  syncDirectory(dirname(path));
}

/** Under another name first: a crash must not leave half a key under this one, which would block every start. */
function writeNew(path: string, text: string): void {
  const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;
  const draft = `${path}.${process.pid}.draft`;
  try {
    rmSync(draft, { force: true });
    const file = openSync(draft, flags, 0o600);
    try {
      writeFileSync(file, text);
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
    // Unlike renaming, linking does not replace a key that is already there.
    linkSync(draft, path);
  } catch (cause) {
    throw new JournalError('journal.invalid_key', 'A key file could not be made.', {
      cause,
      fix: 'Look whether there is one already, and whether the disk is full.',
    });
  } finally {
    rmSync(draft, { force: true });
  }
  syncDirectory(dirname(path));
}

interface CachedSigner {
  readonly signer: Signer;
  readonly stat: Stats;
}

const cache = new Map<string, CachedSigner>();

/** Reads the file again only when it is another one. Throws `journal.key_missing`, `journal.key_unsafe`, `journal.invalid_key`. */
export function readSigner(path: string): Signer {
  const stat = statOf(path);
  const cached = cache.get(path);
  if (cached !== undefined && isSameFile(cached.stat, stat)) return cached.signer;
  const signer = signerOf(parse(readFileSync(path, 'utf8')));
  cache.set(path, { signer, stat });
  return signer;
}

function isSameFile(one: Stats, other: Stats): boolean {
  return (
    one.ino === other.ino &&
    one.dev === other.dev &&
    one.size === other.size &&
    one.mtimeMs === other.mtimeMs &&
    one.ctimeMs === other.ctimeMs
  );
}

function statOf(path: string): Stats {
  const stat = lstatSync(path, { throwIfNoEntry: false });
  if (stat === undefined) {
    throw new JournalError('journal.key_missing', 'A key of the journal is not there.', {
      fix: 'Bring the identity directory of this home back from a backup, or, if only the checkpoint or attestation key is lost, begin a new log with `palyra journal recover`.',
    });
  }
  // SECURITY: T-40 — who can read the key signs for us, and who can replace it makes every later signature worthless.
  if (!stat.isFile() || (stat.mode & 0o077) !== 0 || stat.uid !== process.geteuid?.()) {
    throw new JournalError('journal.key_unsafe', 'A key file of the journal is open to others.', {
      fix: 'chmod 600 and chown it; if others could read it, rotate the key.',
    });
  }
  return stat;
}

function parse(pem: string): KeyObject {
  try {
    const key = createPrivateKey(pem);
    if (key.asymmetricKeyType === 'ed25519') return key;
  } catch {
    // Said below without the cause: a parser's message may quote the key.
  }
  throw new JournalError('journal.invalid_key', 'A key file of the journal does not hold an Ed25519 key.');
}

const SPKI_BYTES = 12;

function signerOf(key: KeyObject): Signer {
  const spki = createPublicKey(key).export({ type: 'spki', format: 'der' });
  return {
    publicKey: new Uint8Array(spki.subarray(SPKI_BYTES)),
    sign: (message) => new Uint8Array(sign(null, message, key)),
  };
}
