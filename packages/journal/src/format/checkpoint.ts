import { JournalError } from '../journal-error.ts';
import { base64Of, bytesOfBase64, concat, equalBytes, uint64, utf8 } from './bytes.ts';
import type { VerifyCrypto } from './crypto.ts';
import { HASH_BYTES } from './merkle-tree.ts';
import { type NoteKey, type NoteSigning, noteKeyId, parseNote, type SignedNote, signatureLine } from './signed-note.ts';

/** C2SP tlog-checkpoint: what the log was when it had so many entries. */
export interface Checkpoint {
  readonly origin: string;
  readonly size: number;
  readonly root: Uint8Array;
}

/** Throws `journal.invalid_note` for what no checkpoint can say. */
export function checkpointText({ origin, size, root }: Checkpoint): string {
  // A newline in the origin would be a size and a root of its own choosing.
  if (!/^[^\n]+$/.test(origin) || !Number.isSafeInteger(size) || size < 0 || root.length !== HASH_BYTES) {
    throw new JournalError('journal.invalid_note', 'A checkpoint cannot be written of this origin, size and root.');
  }
  return `${origin}\n${size}\n${base64Of(root)}\n`;
}

/** Throws `journal.invalid_note`. The signatures are not looked at. */
export function parseCheckpoint(text: string): { readonly note: SignedNote; readonly checkpoint: Checkpoint } {
  const note = parseNote(text);
  const [origin = '', size = '', root = '', ...extensions] = note.text.slice(0, -1).split('\n');
  const rootBytes = bytesOfBase64(root);
  const count = Number(size);
  const isSound =
    origin !== '' &&
    !extensions.includes('') &&
    /^(?:0|[1-9][0-9]{0,15})$/.test(size) &&
    Number.isSafeInteger(count) &&
    rootBytes?.length === HASH_BYTES;
  if (!isSound) throw new JournalError('journal.invalid_note', 'A signed note is not a checkpoint.');
  return { note, checkpoint: { origin, size: count, root: rootBytes } };
}

/** A witness's statement: at this time, the largest tree I have seen of this log was this one. */
export interface Cosignature {
  readonly witness: NoteKey;
  /** Seconds since the Unix epoch, by the witness's clock. */
  readonly time: number;
}

const TIME_BYTES = 8;
const SIGNATURE_BYTES = 64;

function cosignedMessage(time: number, text: string): Uint8Array {
  return utf8(`cosignature/v1\ntime ${time}\n${text}`);
}

/** One more signature line for the note (C2SP tlog-cosignature, Ed25519). */
export function cosign(
  { text }: SignedNote,
  { name, time, signer, sha256 }: NoteSigning & { readonly name: string; readonly time: number },
): string {
  const keyId = noteKeyId({ name, type: 4, publicKey: signer.publicKey }, sha256);
  const signature = concat(uint64(time), signer.sign(cosignedMessage(time, text)));
  return signatureLine({ name, keyId, signature });
}

/** The cosignature of this witness on the note, if it is there and holds. */
export async function findCosignature(
  note: SignedNote,
  witness: NoteKey,
  crypto: VerifyCrypto,
): Promise<Cosignature | undefined> {
  if (witness.type !== 4) return undefined;
  const keyId = noteKeyId(witness, crypto.sha256);
  for (const { name, keyId: found, signature } of note.signatures) {
    if (name !== witness.name || !equalBytes(found, keyId) || signature.length !== TIME_BYTES + SIGNATURE_BYTES)
      continue;
    const time = Number(new DataView(signature.buffer, signature.byteOffset).getBigUint64(0));
    if (!Number.isSafeInteger(time)) continue;
    const holds = await crypto.verifyEd25519({
      publicKey: witness.publicKey,
      message: cosignedMessage(time, note.text),
      signature: signature.slice(TIME_BYTES),
    });
    if (holds) return { witness, time };
  }
  return undefined;
}
