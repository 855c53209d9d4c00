import { canonicalJsonBytes, type JsonValue, parseId, parseJson } from '@palyra/primitives';
import type { PairingError } from './pairing-error.ts';
import { isRefusalCode, type Refusal, refused } from './refusal.ts';

/** What the person had at hand: the eight digits, or the join URL with its 128 bits. */
export type Means = 'pin' | 'code';

export interface Hello {
  readonly kind: 'hello';
  readonly versions: readonly number[];
  readonly nonce: Uint8Array;
  readonly means: Means;
  /** The one open invitation, unless it is named. */
  readonly invitation?: string;
}

/** In the clear, though inside TLS; in this order, `share` and `proof` from each side. */
export type ClearMessage =
  | Hello
  | { readonly kind: 'welcome'; readonly version: number; readonly nonce: Uint8Array }
  | { readonly kind: 'share'; readonly share: Uint8Array; readonly associatedData: Uint8Array }
  | { readonly kind: 'proof'; readonly proof: Uint8Array };

/** Under the session keys, after both proofs. */
export type SealedMessage =
  | { readonly kind: 'request'; readonly csr: Uint8Array }
  | { readonly kind: 'asking' }
  | { readonly kind: 'issued'; readonly certificate: string; readonly ca: string; readonly device: string }
  | { readonly kind: 'done' };

export type Message = ClearMessage | SealedMessage;
type RefusalMessage = { readonly kind: 'refusal' } & Refusal;

export const NONCE_BYTES = 16;

export function encodeMessage(message: Message | RefusalMessage): Uint8Array {
  const fields = Object.entries(message).map(([name, value]) => [
    name,
    value instanceof Uint8Array ? text(value) : value,
  ]);
  return canonicalJsonBytes(Object.fromEntries(fields) as JsonValue);
}

/** Throws what the other side refused with, and `pairing.protocol` for anything but one whole message of that kind. */
export function decodeMessage<Kind extends Message['kind']>(
  kind: Kind,
  bytes: Uint8Array,
): Extract<Message, { readonly kind: Kind }> {
  const fields = fieldsOf(bytes);
  if (fields['kind'] === 'refusal') throw refused(refusalOf(fields));
  // SECURITY: T-34 — each step takes one kind of message: none can be skipped, repeated or brought forward.
  if (fields['kind'] !== kind) throw malformed();
  return READERS[kind](fields);
}

type Fields = Readonly<Record<string, JsonValue>>;

const READERS: { readonly [Kind in Message['kind']]: (fields: Fields) => Extract<Message, { readonly kind: Kind }> } = {
  hello: readHello,
  welcome: (fields) => {
    only(fields, ['kind', 'nonce', 'version']);
    return { kind: 'welcome', version: versionOf(fields['version']), nonce: bytesOf(fields['nonce'], NONCE_BYTES) };
  },
  share: (fields) => {
    only(fields, ['associatedData', 'kind', 'share']);
    return { kind: 'share', share: bytesOf(fields['share'], 32), associatedData: bytesOf(fields['associatedData']) };
  },
  proof: (fields) => {
    only(fields, ['kind', 'proof']);
    return { kind: 'proof', proof: bytesOf(fields['proof'], 64) };
  },
  request: (fields) => {
    // SECURITY: T-34 — a device asks for a certificate and for nothing else: kind, name and rights are not its to say.
    only(fields, ['csr', 'kind']);
    return { kind: 'request', csr: bytesOf(fields['csr']) };
  },
  asking: (fields) => {
    only(fields, ['kind']);
    return { kind: 'asking' };
  },
  issued: (fields) => {
    only(fields, ['ca', 'certificate', 'device', 'kind']);
    const [ca, certificate] = [stringOf(fields['ca']), stringOf(fields['certificate'])];
    return { kind: 'issued', ca, certificate, device: idOf('device', fields['device']) };
  },
  done: (fields) => {
    only(fields, ['kind']);
    return { kind: 'done' };
  },
};

/** Fields of later versions are let through: whoever speaks several writes one hello for all. All of it is bound. */
function readHello(fields: Fields): Hello {
  const { versions } = fields;
  if (!Array.isArray(versions) || versions.length > 16) throw malformed();
  const hello = { kind: 'hello', versions: versions.map(versionOf) } as const;
  const { means, nonce, invitation } = fields;
  if (means !== 'pin' && means !== 'code') throw malformed();
  const named = invitation === undefined ? {} : { invitation: idOf('pairing', invitation) };
  return { ...hello, means, nonce: bytesOf(nonce, NONCE_BYTES), ...named };
}

/** The versions alone, of a hello that may be of a later version in all else. Undefined when there are none. */
export function versionsOf(bytes: Uint8Array): readonly number[] | undefined {
  const { kind, versions } = fieldsOf(bytes);
  if (kind !== 'hello' || !Array.isArray(versions) || versions.length === 0 || versions.length > 16) return undefined;
  return versions.map(versionOf);
}

function refusalOf(fields: Fields): Refusal {
  const { code, triesLeft, retryAfterMs, versions } = fields;
  if (!isRefusalCode(code)) return { code: 'pairing.protocol' };
  return {
    code,
    ...(isCount(triesLeft) ? { triesLeft } : {}),
    ...(isCount(retryAfterMs) ? { retryAfterMs } : {}),
    ...(Array.isArray(versions) && versions.length <= 16 ? { versions: versions.map(versionOf) } : {}),
  };
}

function fieldsOf(bytes: Uint8Array): Fields {
  try {
    const value = parseJson(bytes, { maxDepth: 2 });
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Fields;
  } catch {
    // Garbage is as malformed as any other value.
  }
  throw malformed();
}

function only(fields: Fields, names: readonly string[]): void {
  if (Object.keys(fields).length !== names.length || !names.every((name) => Object.hasOwn(fields, name))) {
    throw malformed();
  }
}

function versionOf(value: JsonValue | undefined): number {
  if (isCount(value)) return value;
  throw malformed();
}

function isCount(value: JsonValue | undefined): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;
}

function stringOf(value: JsonValue | undefined): string {
  if (typeof value === 'string' && value !== '') return value;
  throw malformed();
}

function idOf(kind: 'device' | 'pairing', value: JsonValue | undefined): string {
  try {
    return parseId(kind, value);
  } catch {
    throw malformed();
  }
}

function text(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('base64url');
}

/** In its one spelling, and of one length where that is fixed. */
function bytesOf(value: JsonValue | undefined, length?: number): Uint8Array {
  const bytes = Buffer.from(stringOf(value), 'base64url');
  if (text(bytes) !== value || (length !== undefined && bytes.length !== length)) throw malformed();
  return bytes;
}

export function malformed(): PairingError {
  return refused({ code: 'pairing.protocol' });
}
