import { JournalError } from '../journal-error.ts';
import { base64Of, bytesOfBase64, concat, equalBytes, hexOf, utf8 } from './bytes.ts';
import type { Sha256, Signer, VerifyCrypto } from './crypto.ts';

/** C2SP signed-note: text, a blank line, and a line for each signature. */
export interface SignedNote {
  /** What is signed, its last newline included. */
  readonly text: string;
  readonly signatures: readonly NoteSignature[];
}

export interface NoteSignature {
  readonly name: string;
  readonly keyId: Uint8Array;
  readonly signature: Uint8Array;
}

/** A public key by its name; `vkey` is its one-line spelling. */
export interface NoteKey {
  readonly name: string;
  /** 1: signs notes. 4: cosigns checkpoints with a time. */
  readonly type: 1 | 4;
  readonly publicKey: Uint8Array;
}

const KEY_ID_BYTES = 4;
export const MAX_SIGNATURES: number = 64;
const MAX_NOTE = 64 * 1024;
const KEY_BYTES = 32;

/** No Unicode space, of which ECMAScript's `\s` forgets one, and no plus. */
const NAME = /^[^\s\u0085+]+$/u;
const SIGNATURE = /^\u2014 (?<name>[^\s\u0085+]+) (?<base64>\S+)$/u;
const VKEY = /^(?<name>[^\s\u0085+]+)\+(?<id>[0-9a-f]{8})\+(?<material>\S+)$/u;

export function noteKeyId({ name, type, publicKey }: NoteKey, sha256: Sha256): Uint8Array {
  return sha256(utf8(name), new Uint8Array([0x0a, type]), publicKey).slice(0, KEY_ID_BYTES);
}

/** Throws `journal.invalid_note` for a text that no note can hold. */
export function signNote(text: string, name: string, { signer, sha256 }: NoteSigning): string {
  if (text.length < 2 || !text.endsWith('\n') || !isPlain(text)) throw invalid('can hold no such text');
  const keyId = ownKeyId(name, { signer, sha256 });
  return `${text}\n${signatureLine({ name, keyId, signature: signer.sign(utf8(text)) })}`;
}

export interface NoteSigning {
  readonly signer: Signer;
  readonly sha256: Sha256;
}

/** One signer signs under one name, over and over. */
const ownKeyIds = new WeakMap<Signer, { readonly name: string; readonly keyId: Uint8Array }>();

function ownKeyId(name: string, { signer, sha256 }: NoteSigning): Uint8Array {
  const known = ownKeyIds.get(signer);
  if (known?.name === name) return known.keyId;
  const keyId = noteKeyId({ name, type: 1, publicKey: signer.publicKey }, sha256);
  ownKeyIds.set(signer, { name, keyId });
  return keyId;
}

/** Throws `journal.invalid_note` for a name that notes cannot hold. */
export function signatureLine({ name, keyId, signature }: NoteSignature): string {
  if (!NAME.test(name) || !isPlain(name)) throw invalid('can hold no such name');
  return `\u2014 ${name} ${base64Of(concat(keyId, signature))}\n`;
}

/** Throws `journal.invalid_note`. Nothing is verified yet. */
export function parseNote(note: string): SignedNote {
  if (note.length > MAX_NOTE) throw invalid('is too long');
  if (!isPlain(note)) throw invalid('holds control characters');
  const blank = note.lastIndexOf('\n\n');
  if (blank < 1 || !note.endsWith('\n')) throw invalid('has no signatures');
  const lines = note.slice(blank + 2, -1).split('\n');
  if (lines.length > MAX_SIGNATURES) throw invalid('has too many signatures');
  return { text: note.slice(0, blank + 1), signatures: lines.map(parseSignature) };
}

/** Whole Unicode characters, and no control characters but the newline. */
function isPlain(text: string): boolean {
  for (let at = 0; at < text.length; at += 1) {
    if (text.charCodeAt(at) < 0x20 && text[at] !== '\n') return false;
  }
  return text.isWellFormed();
}

function parseSignature(line: string): NoteSignature {
  const found = SIGNATURE.exec(line)?.groups;
  const bytes = bytesOfBase64(found?.['base64'] ?? '');
  if (found?.['name'] === undefined || bytes === undefined || bytes.length <= KEY_ID_BYTES) {
    throw invalid('has a line that is no signature');
  }
  return { name: found['name'], keyId: bytes.slice(0, KEY_ID_BYTES), signature: bytes.slice(KEY_ID_BYTES) };
}

/**
 * Whether this key signed the note: as its name and id say, and the signature holds. Signatures of other keys count for
 * nothing either way.
 */
export async function isSignedBy(note: SignedNote, key: NoteKey, crypto: VerifyCrypto): Promise<boolean> {
  // The other type signs another message: what it cosigned must not pass for a note of its own.
  if (key.type !== 1) return false;
  const keyId = keyIdOnce(key, crypto.sha256);
  for (const { name, keyId: found, signature } of note.signatures) {
    if (name !== key.name || !equalBytes(found, keyId)) continue;
    return crypto.verifyEd25519({ publicKey: key.publicKey, message: utf8(note.text), signature });
  }
  return false;
}

/** SECURITY: T-39 — a log may have thousands of keys, each of which is asked at every checkpoint. */
const keyIds = new WeakMap<Uint8Array, { readonly name: string; readonly keyId: Uint8Array }>();

function keyIdOnce(key: NoteKey, sha256: Sha256): Uint8Array {
  const known = keyIds.get(key.publicKey);
  if (known?.name === key.name) return known.keyId;
  const keyId = noteKeyId(key, sha256);
  keyIds.set(key.publicKey, { name: key.name, keyId });
  return keyId;
}

/** `NAME+ID+KEY`, as C2SP writes verifier keys. */
export function formatVkey(key: NoteKey, sha256: Sha256): string {
  const material = concat(new Uint8Array([key.type]), key.publicKey);
  return `${key.name}+${hexOf(noteKeyId(key, sha256))}+${base64Of(material)}`;
}

/** Throws `journal.invalid_key`. */
export function parseVkey(text: string, sha256: Sha256): NoteKey {
  const found = VKEY.exec(text.trim())?.groups;
  const material = bytesOfBase64(found?.['material'] ?? '');
  const type = material?.[0];
  if (found?.['name'] !== undefined && material?.length === KEY_BYTES + 1 && (type === 1 || type === 4)) {
    const key: NoteKey = { name: found['name'], type, publicKey: material.slice(1) };
    if (hexOf(noteKeyId(key, sha256)) === found['id']) return key;
  }
  throw new JournalError('journal.invalid_key', 'This is not a verifier key.', {
    fix: 'Give the key as one line: NAME+ID+KEY, as `palyra journal checkpoint` and the files ending in .pub have it.',
  });
}

function invalid(what: string): JournalError {
  return new JournalError('journal.invalid_note', `A signed note ${what}.`);
}
