import { X509Certificate } from 'node:crypto';
import type { Clock } from '@palyra/primitives';
import { ClientError } from '../client-error.ts';
import type { TlsFiles } from './client-tls.ts';

/** palyrad hangs up on a certificate that has run out, and nobody could tell that from one that is not there. */
export function requireCurrent(
  { cert }: Pick<TlsFiles, 'cert'>,
  { clock, fix }: { readonly clock: Clock; readonly fix: string },
): void {
  if (clock.now() < validTo(cert)) return;
  throw new ClientError('client.credential_refused', 'The certificate of this device has run out.', { fix });
}

function validTo(pem: string): number {
  try {
    return new X509Certificate(pem).validToDate.getTime();
  } catch (cause) {
    throw new ClientError('client.credential_missing', 'The certificate of this device cannot be read.', {
      fix: 'Bring the directory back from a backup, or renew or pair the device anew.',
      cause,
    });
  }
}
