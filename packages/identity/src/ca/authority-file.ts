import { X509Certificate } from 'node:crypto';
import { dirname, join } from 'node:path';
import { type JsonValue, parseJson } from '@palyra/primitives';
import { IdentityError } from '../identity-error.ts';
import {
  checkPrivateDirectory,
  createPrivateFile,
  fileStamp,
  readPrivateFile,
  replacePrivateFile,
} from '../keys/private-files.ts';
import { fingerprintOf } from '../x509/certificate-facts.ts';

/** One certificate authority of a home, as it is kept. */
export interface Authority {
  /** SHA-256 of its certificate, hexadecimal. */
  readonly id: string;
  /** `next` is trusted and signs nothing yet; `previous` is trusted for a while and signs nothing any more. */
  readonly state: 'current' | 'next' | 'previous';
  readonly certificate: X509Certificate;
  readonly createdAt: number;
  /** From then on nothing that it signed counts. */
  readonly trustedUntil: number;
}

/** The public half of a home's authorities: one file, so that a change is whole or not there. */
export interface AuthorityFile {
  readonly directory: string;
  /** Throws `identity.ca_missing`, `identity.ca_invalid`, `identity.key_unsafe`. */
  read(): readonly Authority[];
  write(authorities: readonly Authority[]): void;
  /** The first ones. Throws `identity.not_written`, also when somebody else was quicker. */
  create(authorities: readonly Authority[]): void;
}

const FORMAT = 'palyra.ca/1';
const FILE = 'authorities.json';
const MAX_LENGTH = 256 * 1024;

/** Reads the file again only when it is another one. */
export function openAuthorityFile(directory: string): AuthorityFile {
  const path = join(directory, FILE);
  let known: { readonly stamp: string; readonly authorities: readonly Authority[] } | undefined;
  return {
    directory,
    read() {
      const stamp = fileStamp(path);
      if (stamp === '') throw noAuthority();
      if (known?.stamp !== stamp) {
        // SECURITY: T-40 — who can write the directory above brings an authority of before back.
        checkPrivateDirectory(dirname(directory));
        checkPrivateDirectory(directory);
        known = { stamp, authorities: parseAuthorities(readPrivateFile(path)) };
      }
      return known.authorities;
    },
    write: (authorities) => replacePrivateFile(path, renderAuthorities(authorities)),
    create: (authorities) => createPrivateFile(path, renderAuthorities(authorities)),
  };
}

function renderAuthorities(authorities: readonly Authority[]): string {
  const written = authorities.map(({ id, state, certificate, createdAt, trustedUntil }) => ({
    id,
    state,
    certificate: certificate.toString(),
    created_at: createdAt,
    trusted_until: trustedUntil,
  }));
  return `${JSON.stringify({ format: FORMAT, authorities: written }, undefined, 2)}\n`;
}

export function keyFileOf(directory: string, id: string): string {
  return join(directory, `${id.slice(0, 16)}.key`);
}

function parseAuthorities(text: string): readonly Authority[] {
  let value: JsonValue;
  try {
    value = parseJson(text, { maxLength: MAX_LENGTH });
  } catch (cause) {
    throw invalid(cause);
  }
  const { format, authorities } = value as { format?: unknown; authorities?: unknown };
  if (format !== FORMAT || !Array.isArray(authorities)) throw invalid();
  const found = authorities.map((each) => parseAuthority(each));
  if (found.filter(({ state }) => state === 'current').length !== 1) throw invalid();
  return found;
}

function parseAuthority(value: unknown): Authority {
  const { id, state, certificate, created_at, trusted_until } = (value ?? {}) as Readonly<Record<string, unknown>>;
  const isTimed = Number.isSafeInteger(created_at) && Number.isSafeInteger(trusted_until);
  const isKnownState = state === 'current' || state === 'next' || state === 'previous';
  if (!isTimed || !isKnownState || typeof certificate !== 'string') throw invalid();
  const read = parseCertificate(certificate);
  // SECURITY: T-35 — an authority and nothing else: any other certificate in this list would vouch for itself.
  if (!read.ca || fingerprintOf(read) !== id) throw invalid();
  return { id, state, certificate: read, createdAt: Number(created_at), trustedUntil: Number(trusted_until) };
}

function parseCertificate(pem: string): X509Certificate {
  try {
    return new X509Certificate(pem);
  } catch (cause) {
    throw invalid(cause);
  }
}

function noAuthority(): IdentityError {
  return new IdentityError('identity.ca_missing', 'This home has no certificate authority.', {
    fix: 'Run `palyra init`, or check --home.',
  });
}

function invalid(cause?: unknown): IdentityError {
  return new IdentityError('identity.ca_invalid', 'What this home keeps of its certificate authority is damaged.', {
    fix: 'Bring the identity directory back from a backup.',
    ...(cause === undefined ? {} : { cause }),
  });
}
