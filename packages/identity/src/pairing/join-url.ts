import { isIPv6 } from 'node:net';
import { parseId, parseSha256Hex, Secret, type SecretText, type Sha256Hex, visibleText } from '@palyra/primitives';
import { PairingError } from './pairing-error.ts';

export interface PairingAddress {
  /** A name or a bare IP address, IPv6 without brackets. */
  readonly host: string;
  readonly port: number;
}

/** Where to join, and what of it is known already. */
export interface JoinTarget {
  readonly address: PairingAddress;
  readonly invitation?: string;
  /** SHA-256 of the CA's certificate. */
  readonly ca?: Sha256Hex;
  /** The secret that stands in for the PIN. */
  readonly code?: SecretText;
}

const URL_FORM = /^palyra:\/\/([^/?#]+)\/join\/([^/?#]+)\?ca=([A-Za-z0-9_-]{43})(?:#([A-Za-z0-9_-]{22}))?$/;
const ADDRESS_FORM = /^(?:\[([0-9A-Fa-f:.]+(?:%[A-Za-z0-9_.-]+)?)\]|([A-Za-z0-9._-]+)):(\d{1,5})$/;

/** Short, for the QR code grows with it. The secret is behind the #: what stands before it may be shown to anybody. */
export function renderJoinUrl(target: Required<Omit<JoinTarget, 'code'>>, code: string): string {
  const ca = Buffer.from(target.ca, 'hex').toString('base64url');
  return `palyra://${renderAddress(target.address)}/join/${target.invitation}?ca=${ca}#${code}`;
}

/** `HOST:PORT`, or a join URL with or without its secret. Throws `pairing.invalid_url`, which does not repeat it. */
export function parseJoinTarget(text: string): JoinTarget {
  const address = parseAddress(text);
  if (address !== undefined) return { address };
  const [, where = '', invitation, ca = '', code] = URL_FORM.exec(text) ?? [];
  const found = parseAddress(where);
  const digest = Buffer.from(ca, 'base64url');
  if (found === undefined || digest.toString('base64url') !== ca) throw invalid(text);
  try {
    return {
      address: found,
      invitation: parseId('pairing', invitation),
      ca: parseSha256Hex(digest.toString('hex')),
      ...(code === undefined ? {} : { code: new Secret(code) }),
    };
  } catch {
    throw invalid(text);
  }
}

export function renderAddress({ host, port }: PairingAddress): string {
  return isIPv6(host.split('%')[0] ?? '') ? `[${host}]:${port}` : `${host}:${port}`;
}

function parseAddress(text: string): PairingAddress | undefined {
  const [, bracketed, name, digits] = ADDRESS_FORM.exec(text) ?? [];
  const host = bracketed ?? name;
  const port = Number(digits);
  if (host === undefined || port < 1 || port > 65_535) return undefined;
  return bracketed !== undefined && !isIPv6(bracketed.split('%')[0] ?? '') ? undefined : { host, port };
}

function invalid(text: string): PairingError {
  // SECURITY: T-24 — a join URL with a typing error still holds the secret.
  const shown = text.includes('#') ? 'This' : `"${visibleText(text, { maxCharacters: 80 })}"`;
  return new PairingError('pairing.invalid_url', `${shown} is neither HOST:PORT nor a join URL.`, {
    fix: 'Give what "palyra device pair" printed.',
  });
}
