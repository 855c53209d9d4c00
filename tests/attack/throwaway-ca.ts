import { generateKeyPairSync, X509Certificate } from 'node:crypto';
import type { IssuePairedCertificate, ListenerCredential } from '@palyra/identity';
import { createIdSource, type Sha256Hex, sha256Hex } from '@palyra/primitives';
import {
  makeAuthorityCertificate,
  makeCertificate,
  readSigningRequest,
} from '../../packages/identity/src/x509/make-certificates.ts';

const DAY = 86_400_000;

export interface ThrowawayCa {
  readonly caPem: string;
  /** SHA-256 of its certificate. */
  readonly ca: Sha256Hex;
  readonly issue: IssuePairedCertificate;
  /** For a listener on the loopback interface. */
  listenerCredential(): Promise<ListenerCredential>;
  /** What was asked for and granted, in order. */
  readonly requests: Parameters<IssuePairedCertificate>[0][];
}

/** A real CA for one test: it checks the request's own signature, and signs. */
export async function createThrowawayCa(now: () => number): Promise<ThrowawayCa> {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const life = { notBefore: now() - DAY, notAfter: now() + DAY };
  const caPem = await makeAuthorityCertificate({ commonName: 'throw-away', privateKey, ...life });
  const ids = createIdSource({ now });
  const requests: Parameters<IssuePairedCertificate>[0][] = [];
  return {
    caPem,
    ca: sha256Hex(new X509Certificate(caPem).raw),
    requests,
    async listenerCredential() {
      const own = generateKeyPairSync('ec', { namedCurve: 'P-256' });
      const publicKey = own.publicKey.export({ type: 'spki', format: 'der' });
      const certificatePem = await makeCertificate(
        {
          commonName: 'listener',
          publicKey,
          purpose: 'server',
          names: [{ type: 'ip', value: '127.0.0.1' }],
          ...life,
        },
        { certificate: caPem, privateKey },
      );
      return { certificatePem, privateKeyPem: own.privateKey.export({ type: 'pkcs8', format: 'pem' }) as string };
    },
    async issue(asked) {
      const publicKey = await readSigningRequest(asked.csrDer);
      const device = asked.device ?? ids.newId('device');
      const certificatePem = await makeCertificate(
        {
          commonName: device,
          publicKey,
          purpose: 'client',
          names: [{ type: 'url', value: `palyra://device/${device}` }],
          notBefore: now() - 60_000,
          notAfter: now() + DAY / 2,
        },
        { certificate: caPem, privateKey },
      );
      requests.push(asked);
      return { certificatePem, caPem, device };
    },
  };
}
