import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { hexOf } from '../format/bytes.ts';
import type { Signer } from '../format/crypto.ts';
import { formatVkey, parseVkey } from '../format/signed-note.ts';
import { JournalError } from '../journal-error.ts';
import { createKeyFile, readSigner } from '../keys/key-file.ts';
import { nodeSha256 } from '../node-crypto.ts';
import { createFileWitnessStore, ensureDirectory, type WitnessStore } from './witness-store.ts';

/** A witness that lives in a directory: its key, its name and what it remembers. */
export interface WitnessDirectory {
  readonly name: string;
  readonly signer: Signer;
  /** What verifiers pin. */
  readonly vkey: string;
  readonly store: WitnessStore;
  /** The key was made now. */
  readonly isNew: boolean;
}

const NAME = /^[A-Za-z0-9][A-Za-z0-9._:/-]{0,127}$/;

/** Makes the key at the first use. Throws `journal.invalid_key`, `journal.key_unsafe`, `journal.witness_store`. */
export function openWitnessDirectory(directory: string, wanted: string | undefined): WitnessDirectory {
  ensureDirectory(directory);
  const keyFile = join(directory, 'witness.key');
  const nameFile = join(directory, 'witness.pub');
  const isNew = !existsSync(keyFile);
  const signer = isNew ? createKeyFile(keyFile) : readSigner(keyFile);
  const name = nameOf(nameFile, { signer, wanted });
  const vkey = formatVkey({ name, type: 4, publicKey: signer.publicKey }, nodeSha256);
  if (!existsSync(nameFile)) writeFileSync(nameFile, `${vkey}\n`, { mode: 0o644, flush: true });
  return { name, signer, vkey, store: createFileWitnessStore(directory), isNew };
}

function nameOf(file: string, { signer, wanted }: { readonly signer: Signer; readonly wanted: string | undefined }) {
  if (existsSync(file)) {
    const { name, publicKey } = parseVkey(readFileSync(file, 'utf8'), nodeSha256);
    if (hexOf(publicKey) !== hexOf(signer.publicKey)) {
      throw new JournalError('journal.invalid_key', 'witness.key and witness.pub are not of one key.', {
        fix: 'Bring both back from a backup.',
      });
    }
    if (wanted === undefined || wanted === name) return name;
    throw new JournalError('journal.invalid_key', `This witness is called ${name}, and others know it by that.`, {
      fix: 'Leave --name out, or give another --store DIR.',
    });
  }
  const name = wanted ?? `witness/${hexOf(nodeSha256(signer.publicKey)).slice(0, 8)}`;
  if (NAME.test(name)) return name;
  throw new JournalError('journal.invalid_key', 'A witness is named by letters, digits and . _ : / - only.', {
    fix: 'Give another --name.',
  });
}
