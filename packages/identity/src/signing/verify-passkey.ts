import { createHash } from 'node:crypto';
import { isSignedByKey, type SignedByKey } from '../keys/device-key.ts';

/** Whom a passkey was made for: the console, by its host name and by the origins it is served from. */
export interface RelyingParty {
  readonly id: string;
  readonly origins: readonly string[];
}

/** What a browser hands over for one signature (WebAuthn, `navigator.credentials.get`). */
export interface PasskeyAssertion {
  readonly authenticatorData: Uint8Array;
  readonly clientDataJson: Uint8Array;
  readonly signature: Uint8Array;
}

const FORMAT = 'palyra.passkey/1';
const RP_HASH_BYTES = 32;
const FLAGS_AT = 32;
const USER_PRESENT = 0x01;
const USER_VERIFIED = 0x04;
const MAX_BYTES = 16 * 1024;

/** The challenge that a browser is given, base64url: the message itself may be longer than a challenge should be. */
export function passkeyChallenge(message: Uint8Array): string {
  return createHash('sha256').update(message).digest('base64url');
}

/** As one signature, where others have 64 bytes. */
export function encodeAssertion({ authenticatorData, clientDataJson, signature }: PasskeyAssertion): Uint8Array {
  const text = (bytes: Uint8Array) => Buffer.from(bytes).toString('base64url');
  const parts = { data: text(authenticatorData), client: text(clientDataJson), signature: text(signature) };
  return new TextEncoder().encode(JSON.stringify({ format: FORMAT, ...parts }));
}

/** Undefined for anything but an assertion by this key, about this message, made for us with its user present. Never throws. */
export function verifyPasskey(
  { publicKey, message, signature }: SignedByKey,
  { id, origins }: RelyingParty,
): { readonly isUserVerified: boolean } | undefined {
  const assertion = decodeAssertion(signature);
  if (assertion === undefined) return undefined;
  const { authenticatorData, clientDataJson } = assertion;
  // SECURITY: T-46 — what the authenticator signed is this message and no other, asked for by our own page.
  const client = readClientData(clientDataJson);
  const isAboutThis = client?.['type'] === 'webauthn.get' && client['challenge'] === passkeyChallenge(message);
  if (!isAboutThis || !origins.includes(String(client['origin'])) || client['crossOrigin'] === true) return undefined;
  const isForUs = Buffer.from(authenticatorData.subarray(0, RP_HASH_BYTES)).equals(
    sha256(new TextEncoder().encode(id)),
  );
  const flags = authenticatorData[FLAGS_AT] ?? 0;
  if (!isForUs || (flags & USER_PRESENT) === 0) return undefined;
  const signed = Buffer.concat([authenticatorData, sha256(clientDataJson)]);
  if (!isSignedByKey({ publicKey, message: signed, signature: assertion.signature })) return undefined;
  return { isUserVerified: (flags & USER_VERIFIED) !== 0 };
}

function decodeAssertion(bytes: Uint8Array): PasskeyAssertion | undefined {
  const value = bytes.length > MAX_BYTES ? undefined : readClientData(bytes);
  const { format, data, client, signature } = value ?? {};
  if (format !== FORMAT) return undefined;
  if (typeof data !== 'string' || typeof client !== 'string' || typeof signature !== 'string') return undefined;
  const decode = (text: string) => new Uint8Array(Buffer.from(text, 'base64url'));
  return { authenticatorData: decode(data), clientDataJson: decode(client), signature: decode(signature) };
}

function readClientData(bytes: Uint8Array): Readonly<Record<string, unknown>> | undefined {
  try {
    const value = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes)) as unknown;
    return typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>) : undefined;
  } catch {
    return undefined;
  }
}

function sha256(bytes: Uint8Array): Buffer {
  return createHash('sha256').update(bytes).digest();
}
