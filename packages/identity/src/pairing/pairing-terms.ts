import { createHash } from 'node:crypto';
import {
  canonicalJsonBytes,
  type JsonValue,
  parseId,
  parseJson,
  parseSha256Hex,
  type Sha256Hex,
} from '@palyra/primitives';
import { DEVICE_KINDS, type DeviceKind } from '../device-kind.ts';
import { checkTheirName } from './device-name.ts';
import { lengthValue } from './length-value.ts';
import { type Means, malformed } from './messages.ts';

/** The version that both sides of this package speak. */
export const PROTOCOL_VERSION = 1;

/** What the device says of itself in its CPace message: known to be unchanged once the proofs hold. */
export interface JoinerTerms {
  /** What it calls itself; the operator sees it beside the name that the invitation gives. */
  readonly name: string;
  /** SHA-256 of the public key (SubjectPublicKeyInfo) that it will ask a certificate for. */
  readonly key: Sha256Hex;
  /** The id that it had before. */
  readonly device?: string;
}

/** What the host says in its CPace message. */
export interface HostTerms {
  /** SHA-256 of the CA's certificate: with it the device pins the CA. */
  readonly ca: Sha256Hex;
  readonly kind: DeviceKind;
  readonly name: string;
  /** By the host's clock, in milliseconds. */
  readonly time: number;
}

export function encodeJoinerTerms(terms: JoinerTerms): Uint8Array {
  return canonicalJsonBytes({ role: 'joiner', ...terms });
}

export function encodeHostTerms(terms: HostTerms): Uint8Array {
  return canonicalJsonBytes({ role: 'host', ...terms });
}

/** Throws `pairing.protocol`, `pairing.invalid_name`. */
export function decodeJoinerTerms(bytes: Uint8Array): JoinerTerms {
  const { role, name, key, device, ...others } = fieldsOf(bytes);
  if (role !== 'joiner' || typeof name !== 'string' || Object.keys(others).length > 0) throw malformed();
  const known = device === undefined ? {} : { device: orMalformed(() => parseId('device', device)) };
  return { name: checkTheirName(name), key: orMalformed(() => parseSha256Hex(key)), ...known };
}

/** Throws `pairing.protocol`, `pairing.invalid_name`. */
export function decodeHostTerms(bytes: Uint8Array): HostTerms {
  const { role, ca, kind, name, time, ...others } = fieldsOf(bytes);
  if (role !== 'host' || typeof name !== 'string' || Object.keys(others).length > 0) throw malformed();
  const found = DEVICE_KINDS.find((candidate) => candidate === kind);
  if (found === undefined || typeof time !== 'number' || !Number.isSafeInteger(time)) throw malformed();
  return { ca: orMalformed(() => parseSha256Hex(ca)), kind: found, name: checkTheirName(name), time };
}

export interface ChannelFacts {
  /** From TLS itself (RFC 9266): the two ends of one connection have the same, and nobody in the middle has both. */
  readonly exporter: Uint8Array;
  /** The frames that opened the run, as they were on the wire. */
  readonly hello: Uint8Array;
  readonly welcome: Uint8Array;
}

/** CPace's channel identifier: who is who, over which connection, and how the version was agreed on. */
export function channelIdentifier({ exporter, hello, welcome }: ChannelFacts): Uint8Array {
  const text = (value: string): Uint8Array => Buffer.from(value);
  // SECURITY: T-34 — with the exporter, a man in the middle of TLS makes the two sides derive different generators.
  return lengthValue(text('palyra-pairing/1'), text('joiner'), text('host'), exporter, sha256(hello), sha256(welcome));
}

/** CPace's password-related string. The way it was got is part of it: a PIN is not a code of the same characters. */
export function pakeSecret(means: Means, secret: string): Uint8Array {
  return lengthValue(Buffer.from(means), Buffer.from(secret));
}

function sha256(bytes: Uint8Array): Uint8Array {
  return createHash('sha256').update(bytes).digest();
}

function fieldsOf(bytes: Uint8Array): Readonly<Record<string, JsonValue>> {
  const value = orMalformed(() => parseJson(bytes, { maxDepth: 1 }));
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw malformed();
  return value as Readonly<Record<string, JsonValue>>;
}

function orMalformed<Result>(read: () => Result): Result {
  try {
    return read();
  } catch {
    throw malformed();
  }
}
