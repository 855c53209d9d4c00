import { generateKeyPairSync } from 'node:crypto';
import { isIP } from 'node:net';
import type { CertificateAuthority } from '../ca/open-authority.ts';

/** Both PEM. */
export interface ListenerCredential {
  readonly certificatePem: string;
  readonly privateKeyPem: string;
}

/**
 * For one pairing listener at this address: of the home's own authority, so that whoever knows that can check it. The key is
 * made for it and never touches the disk. Throws as `issueServer` does.
 */
export async function issueListenerCredential(
  authority: Pick<CertificateAuthority, 'issuePairing'>,
  address: string,
): Promise<ListenerCredential> {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const spki = publicKey.export({ type: 'spki', format: 'der' });
  const { pem } = await authority.issuePairing({ publicKey: spki, hosts: nameable(address) });
  return { certificatePem: pem, privateKeyPem: privateKey.export({ type: 'pkcs8', format: 'pem' }) as string };
}

/** None for what a certificate cannot say, such as an address with its zone. */
function nameable(address: string): readonly string[] {
  return (isIP(address) !== 0 && !address.includes('%')) || /^[A-Za-z0-9][\w.-]*$/.test(address) ? [address] : [];
}
