import { createHash, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto';
import { createSecureContext, type SecureContext } from 'node:tls';
import type { HostRule } from '../hosts/host-rule.ts';
import { bits, boolean, type Der, explicit, implicit, integer, octets, oid, sequence, set, text, time } from './der.ts';

/** The certificate authority of one call. It exists in this process only, and vouches for the hosts of its rules only. */
export interface CallAuthority {
  /** To be trusted inside that call's sandbox, and nowhere else. */
  readonly caPem: string;
  /** For a TLS server that passes for this host. */
  contextFor(host: string): SecureContext;
}

interface Keys {
  readonly publicKey: KeyObject;
  readonly privateKey: KeyObject;
}

const HOUR_MS = 3_600_000;
/** Longer than a wrapped agent runs; the key is gone with the call anyway. */
const VALID_MS = 60 * 24 * HOUR_MS;

export function createCallAuthority(rules: readonly HostRule[], now: number): CallAuthority {
  const caKeys = keyPair();
  const caName = nameOf('Palyra, one call only');
  const caPem = pem(
    certificate({
      issuer: caName,
      subject: caName,
      keys: caKeys,
      signer: caKeys,
      now,
      extensions: [
        extension('2.5.29.19', 'critical', sequence(boolean(true), integer(Buffer.from([0])))),
        extension('2.5.29.15', 'critical', bits(Buffer.from([0x04]), 2)),
        extension('2.5.29.14', 'plain', octets(keyId(caKeys))),
        // SECURITY: T-24 — whoever takes this CA for more than it is, is told so by the certificate itself.
        extension('2.5.29.30', 'critical', nameConstraints(rules)),
      ],
    }),
  );
  const leafKeys = keyPair();
  const key = leafKeys.privateKey.export({ type: 'pkcs8', format: 'pem' });
  const contexts = new Map<string, SecureContext>();

  function issue(host: string): SecureContext {
    const leaf = certificate({
      issuer: caName,
      subject: nameOf('Palyra'),
      keys: leafKeys,
      signer: caKeys,
      now,
      extensions: [
        extension('2.5.29.15', 'critical', bits(Buffer.from([0x80]), 7)),
        extension('2.5.29.37', 'plain', sequence(oid('1.3.6.1.5.5.7.3.1'))),
        extension('2.5.29.17', 'critical', sequence(implicit(2, Buffer.from(host, 'latin1')))),
        extension('2.5.29.35', 'plain', sequence(implicit(0, keyId(caKeys)))),
      ],
    });
    return createSecureContext({ key, cert: pem(leaf), minVersion: 'TLSv1.2' });
  }

  return {
    caPem,
    contextFor(host) {
      const context = contexts.get(host) ?? issue(host);
      contexts.set(host, context);
      return context;
    },
  };
}

interface CertificateParts {
  readonly issuer: Der;
  readonly subject: Der;
  readonly keys: Keys;
  readonly signer: Keys;
  readonly now: number;
  readonly extensions: readonly Der[];
}

function certificate({ issuer, subject, keys, signer, now, extensions }: CertificateParts): Der {
  const algorithm = sequence(oid('1.2.840.10045.4.3.2'));
  const serial = randomBytes(16);
  serial[0] = (serial[0] ?? 0) & 0x7f;
  const body = sequence(
    explicit(0, integer(Buffer.from([2]))),
    integer(serial),
    algorithm,
    issuer,
    sequence(time(now - HOUR_MS), time(now + VALID_MS)),
    subject,
    keys.publicKey.export({ type: 'spki', format: 'der' }),
    explicit(3, sequence(...extensions)),
  );
  return sequence(body, algorithm, bits(sign('sha256', body, signer.privateKey)));
}

function extension(id: string, how: 'critical' | 'plain', content: Der): Der {
  return sequence(oid(id), ...(how === 'critical' ? [boolean(true)] : []), octets(content));
}

/** The names of the rules and what is below them; no addresses at all. */
function nameConstraints(rules: readonly HostRule[]): Der {
  const permitted = [...new Set(rules.map(({ host }) => host))].map((host) =>
    sequence(implicit(2, Buffer.from(host, 'latin1'))),
  );
  const excluded = [8, 32].map((length) => sequence(implicit(7, Buffer.alloc(length))));
  return sequence(explicit(0, ...permitted), explicit(1, ...excluded));
}

function nameOf(commonName: string): Der {
  return sequence(set(sequence(oid('2.5.4.3'), text(commonName))));
}

function keyPair(): Keys {
  return generateKeyPairSync('ec', { namedCurve: 'P-256' });
}

function keyId({ publicKey }: Keys): Buffer {
  return createHash('sha256')
    .update(publicKey.export({ type: 'spki', format: 'der' }))
    .digest()
    .subarray(0, 20);
}

function pem(der: Der): string {
  const lines = der.toString('base64').match(/.{1,64}/g) ?? [];
  return `-----BEGIN CERTIFICATE-----\n${lines.join('\n')}\n-----END CERTIFICATE-----\n`;
}
