import type { X509Certificate } from 'node:crypto';
import type { CertificateAuthority } from '../ca/open-authority.ts';
import { type Refused, refused } from '../identity-error.ts';
import { type CertificateFacts, fingerprintOf, readCertificateFacts } from '../x509/certificate-facts.ts';

/** What is asked of a connection; a `tls.TLSSocket`, and what stands for one in `node:http2`. */
export interface PeerSocket {
  readonly authorized: boolean;
  isSessionReused(): boolean;
  getPeerX509Certificate(): X509Certificate | undefined;
}

export type PeerReading = { readonly kind: 'read'; readonly facts: CertificateFacts } | Refused;

export interface PeerReader {
  /** Judges the certificate and the moment; whether the device still counts is for the registry to say. */
  read(socket: PeerSocket): PeerReading;
  /** The same for what was read before. */
  judge(facts: CertificateFacts): Refused | undefined;
}

export interface PeerReaderDeps {
  readonly authority: Pick<CertificateAuthority, 'trusted'>;
  now(): number;
}

const MOST_REMEMBERED = 1_000;

export function createPeerReader({ authority, now }: PeerReaderDeps): PeerReader {
  // Verifying the authority's signature anew for each request would cost more than the rest of it.
  const known = new Map<string, CertificateFacts>();

  const factsOf = (certificate: X509Certificate): PeerReading => {
    const fingerprint = fingerprintOf(certificate);
    const remembered = known.get(fingerprint);
    if (remembered !== undefined) return { kind: 'read', facts: remembered };
    const reading = readCertificateFacts(certificate, authority.trusted());
    if (reading.kind === 'refused') return reading;
    if (known.size >= MOST_REMEMBERED) known.clear();
    known.set(fingerprint, reading.facts);
    return reading;
  };

  const judge = (facts: CertificateFacts): Refused | undefined => {
    const moment = now();
    // SECURITY: T-35 — asked each time: a certificate can run out, and the time of its authority end, while a connection lives.
    if (moment < facts.notBefore) return refused('not_yet_valid');
    if (moment >= facts.notAfter) return refused('expired');
    const isTrusted = authority.trusted().some(({ id }) => id === facts.authority);
    return isTrusted ? undefined : refused('unknown_authority');
  };

  return {
    judge,
    read(socket) {
      const certificate = socket.getPeerX509Certificate();
      if (certificate === undefined) return refused('no_certificate');
      // SECURITY: T-35 — also where somebody forgot `rejectUnauthorized`.
      if (!socket.authorized) return refused('unknown_authority');
      // SECURITY: T-55 — nobody has proven anything on a resumed connection; ours cannot be resumed, and if one is, it ends.
      if (socket.isSessionReused()) return refused('resumed_session');
      const reading = factsOf(certificate);
      if (reading.kind === 'refused') return reading;
      return judge(reading.facts) ?? reading;
    },
  };
}
