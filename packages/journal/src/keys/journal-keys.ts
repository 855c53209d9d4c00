import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { bytesOfHex } from '../format/bytes.ts';
import type { Signer } from '../format/crypto.ts';
import type { KeyRole } from '../format/key-statement.ts';
import { formatVkey } from '../format/signed-note.ts';
import { nodeSha256 } from '../node-crypto.ts';
import { createKeyFile, readSigner, replaceKeyFile } from './key-file.ts';

/**
 * The three keys of a journal. The root key is the operator's: it certifies the other two and is needed again only to
 * rotate them or to recover, so it may be kept elsewhere.
 */
export interface JournalKeys {
  /** Throws as `readSigner` does; `journal.key_missing` when the operator keeps it elsewhere. */
  root(): Signer;
  of(role: KeyRole): Signer;
  fileOf(role: KeyRole): string;
  /** Makes those that are missing. */
  create(): void;
  /** Whether a log was ever made with these keys, and is expected in the database. */
  hasLog(): boolean;
  /** The root's verifier key, written when the log is made: what others pin. */
  publish(rootKey?: string): string;
  /** A key to be: made beside the one in use, which it takes the place of. */
  readonly next: Record<KeyRole, NextKey>;
}

export interface NextKey {
  /** The one that an interrupted rotation left, or a new one. */
  make(): Signer;
  /** At once and for good; also when another process was faster. */
  use(): void;
}

const ROOT_KEY_NAME = 'palyra-root';
const ROLES: readonly KeyRole[] = ['checkpoint', 'attestation'];

export function openJournalKeys(directory: string): JournalKeys {
  const files = {
    root: fileIn(directory, 'root'),
    checkpoint: fileIn(directory, 'checkpoint'),
    attestation: fileIn(directory, 'attestation'),
  };
  const file = (name: 'root' | KeyRole) => files[name];
  const published = join(directory, 'journal-root.pub');
  const nextKey = (role: KeyRole): NextKey => {
    const next = `${file(role)}.next`;
    return {
      make: () => (existsSync(next) ? readSigner(next) : createKeyFile(next)),
      use() {
        if (existsSync(next)) replaceKeyFile(next, file(role));
      },
    };
  };
  return {
    root: () => readSigner(file('root')),
    of: (role) => readSigner(file(role)),
    fileOf: file,
    create() {
      mkdirSync(directory, { recursive: true, mode: 0o700 });
      for (const name of ['root', ...ROLES] as const) if (!existsSync(file(name))) createKeyFile(file(name));
    },
    hasLog: () => existsSync(published),
    publish(rootKey) {
      const publicKey = rootKey === undefined ? readSigner(file('root')).publicKey : bytesOfHex(rootKey);
      const vkey = rootVkey(publicKey ?? new Uint8Array());
      if (!existsSync(published) || readFileSync(published, 'utf8').trim() !== vkey) {
        writeFileSync(published, `${vkey}\n`, { mode: 0o644, flush: true });
      }
      return vkey;
    },
    next: { checkpoint: nextKey('checkpoint'), attestation: nextKey('attestation') },
  };
}

function fileIn(directory: string, name: 'root' | KeyRole): string {
  return join(directory, `journal-${name}.key`);
}

export function rootVkey(publicKey: Uint8Array): string {
  return formatVkey({ name: ROOT_KEY_NAME, type: 1, publicKey }, nodeSha256);
}
