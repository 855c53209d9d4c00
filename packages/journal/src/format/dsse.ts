import { canonicalJson } from '@palyra/primitives/browser';
import { JournalError } from '../journal-error.ts';
import { base64Of, bytesOfBase64, concat, hexOf, utf8 } from './bytes.ts';
import { checkShape, digest, matching, object, rule } from './check-shape.ts';
import type { Sha256, Signer, VerifyCrypto } from './crypto.ts';
import { parseCanonical } from './parse-canonical.ts';

/** DSSE: bytes of a declared type, and who signed them. Ours have one Ed25519 signature each. */
export interface Envelope {
  readonly payloadType: string;
  readonly payload: Uint8Array;
  readonly signatures: readonly [EnvelopeSignature];
}

export interface EnvelopeSignature {
  /** `keyIdOf` the signing key. Not covered by the signature: it finds a key, it proves nothing. */
  readonly keyid: string;
  readonly sig: Uint8Array;
}

export interface EnvelopeSigning {
  readonly signer: Signer;
  readonly sha256: Sha256;
}

const MAX_ENVELOPE = 2 * 1024 * 1024;
const SIGNATURE_BYTES = 64;

/** Hexadecimal SHA-256 of the 32 bytes of an Ed25519 public key. */
export function keyIdOf(publicKey: Uint8Array, sha256: Sha256): string {
  return hexOf(sha256(publicKey));
}

/** The bytes that are signed: the type is among them, so that no payload can pass for one of another type. */
export function preAuthEncoding(payloadType: string, payload: Uint8Array): Uint8Array {
  const type = utf8(payloadType);
  return concat(utf8(`DSSEv1 ${type.length} ${payloadType} ${payload.length} `), payload);
}

/** The envelope as canonical JSON. */
export function signEnvelope(payloadType: string, payload: Uint8Array, { signer, sha256 }: EnvelopeSigning): string {
  const sig = base64Of(signer.sign(preAuthEncoding(payloadType, payload)));
  const type = canonicalJson(payloadType);
  // Keys in their order; base64 and hexadecimal are written as they are.
  const signature = `{"keyid":"${ownKeyId(signer, sha256)}","sig":"${sig}"}`;
  return `{"payload":"${base64Of(payload)}","payloadType":${type},"signatures":[${signature}]}`;
}

/** One signer signs over and over. */
const ownKeyIds = new WeakMap<Signer, string>();

function ownKeyId(signer: Signer, sha256: Sha256): string {
  const keyId = ownKeyIds.get(signer) ?? keyIdOf(signer.publicKey, sha256);
  ownKeyIds.set(signer, keyId);
  return keyId;
}

interface WrittenEnvelope {
  readonly payloadType: string;
  readonly payload: string;
  readonly signatures: readonly [{ readonly keyid: string; readonly sig: string }];
}

const writtenSignature = object<WrittenEnvelope['signatures'][0]>({
  keyid: digest,
  sig: matching(/^[A-Za-z0-9+/]{86}==$/, 'a signature in base64'),
});

const isText = (value: unknown): value is string => typeof value === 'string';

const writtenEnvelope = object<WrittenEnvelope>({
  payloadType: matching(/^[!-~]{1,256}$/, 'the name of a type'),
  payload: rule('is not text', isText),
  signatures: (value, fault): value is WrittenEnvelope['signatures'] => {
    if (Array.isArray(value) && value.length === 1) return writtenSignature(value[0], fault);
    fault.reason = 'is not a list of one signature';
    return false;
  },
});

/**
 * Throws `journal.invalid_envelope` for anything but the one spelling that `signEnvelope` gives an envelope. Nothing is
 * verified yet.
 */
export function openEnvelope(envelope: string): Envelope {
  if (envelope.length > MAX_ENVELOPE) throw invalid('is too long.');
  const plain = openPlain(envelope);
  if (plain !== undefined) return plain;
  // SECURITY: T-31 — one spelling, or the holder of a log could show one receipt as many.
  const value = parseCanonical(envelope);
  if (value === undefined) throw invalid('is not canonical JSON.');
  const { payloadType, payload, signatures } = checkShape(value, writtenEnvelope, (what) =>
    invalid(`is malformed. ${what}`),
  );
  const bytes = bytesOfBase64(payload);
  const sig = bytesOfBase64(signatures[0].sig);
  if (bytes === undefined || sig?.length !== SIGNATURE_BYTES) throw invalid('holds text that is not base64.');
  return { payloadType, payload: bytes, signatures: [{ keyid: signatures[0].keyid, sig }] };
}

const BEFORE_PAYLOAD = '{"payload":"';
/** Types without quotes and backslashes are spelled as they are. */
const BEHIND_PAYLOAD =
  /^","payloadType":"(?<type>[!#-[\]-~]{1,256})","signatures":\[\{"keyid":"(?<keyid>[0-9a-f]{64})","sig":"(?<sig>[A-Za-z0-9+/]{86}==)"\}\]\}$/;

/** As `signEnvelope` writes almost all of them, without reading the payload as JSON first. Undefined for any other. */
function openPlain(envelope: string): Envelope | undefined {
  if (!envelope.startsWith(BEFORE_PAYLOAD)) return undefined;
  const end = envelope.indexOf('"', BEFORE_PAYLOAD.length);
  const { type, keyid, sig: signature } = BEHIND_PAYLOAD.exec(envelope.slice(end))?.groups ?? {};
  if (type === undefined || keyid === undefined || signature === undefined) return undefined;
  const payload = bytesOfBase64(envelope.slice(BEFORE_PAYLOAD.length, end));
  const sig = bytesOfBase64(signature);
  if (payload === undefined || sig?.length !== SIGNATURE_BYTES) return undefined;
  return { payloadType: type, payload, signatures: [{ keyid, sig }] };
}

/** Whether the envelope names this key, and its signature holds. */
export async function isEnvelopeSignedBy(
  { payloadType, payload, signatures: [{ keyid, sig }] }: Envelope,
  publicKey: Uint8Array,
  crypto: VerifyCrypto,
): Promise<boolean> {
  if (keyid !== keyIdOnce(publicKey, crypto.sha256)) return false;
  return crypto.verifyEd25519({ publicKey, message: preAuthEncoding(payloadType, payload), signature: sig });
}

/** SECURITY: T-39 — a log may have thousands of keys, each of which is asked at every attestation. */
const keyIds = new WeakMap<Uint8Array, string>();

function keyIdOnce(publicKey: Uint8Array, sha256: Sha256): string {
  const keyId = keyIds.get(publicKey) ?? keyIdOf(publicKey, sha256);
  keyIds.set(publicKey, keyId);
  return keyId;
}

function invalid(what: string): JournalError {
  return new JournalError('journal.invalid_envelope', `A DSSE envelope ${what}`);
}
