import { request as httpsRequest } from 'node:https';
import { type Clock, systemClock } from '@palyra/primitives';
import { renewalDueAt } from '../ca/lifetimes.ts';
import { type CertificateFiles, type Credential, openCredential, storeCertificate } from '../credentials/credential.ts';
import { createSigningRequest } from '../credentials/signing-request.ts';
import { IdentityError } from '../identity-error.ts';
import { clientTlsOptions } from '../tls/tls-options.ts';
import { isUsableRenewal } from './check-renewed.ts';
import { RENEWAL_PATH, type RenewalAnswer } from './renewal-endpoint.ts';

export interface DaemonAddress {
  readonly host: string;
  readonly port: number;
}

/** Asks the daemon for the next certificate, with the present one. Throws `identity.renewal_failed`. */
export async function requestRenewal(credential: Credential, address: DaemonAddress): Promise<CertificateFiles> {
  const csr = Buffer.from(await createSigningRequest(credential.key)).toString('base64');
  const { status, text } = await post(credential, address, JSON.stringify({ csr }));
  try {
    const { certificate, authorities } = JSON.parse(text) as Partial<RenewalAnswer>;
    if (status === 200 && typeof certificate === 'string' && typeof authorities === 'string') {
      const files = { certificatePem: certificate, caPem: authorities };
      if (isUsableRenewal(files, credential)) return files;
    }
  } catch {
    // Said below.
  }
  throw failed(status === 200 ? 'What it gave cannot be used.' : `It answered with ${status}.`);
}

const MAX_ANSWER = 256 * 1024;
const PATIENCE_MS = 30_000;

function post(
  credential: Credential,
  address: DaemonAddress,
  body: string,
): Promise<{ readonly status: number; readonly text: string }> {
  return new Promise((resolve, reject) => {
    const options = {
      ...address,
      ...clientTlsOptions(credential.tls),
      path: RENEWAL_PATH,
      method: 'POST',
      agent: false,
    };
    const request = httpsRequest(options, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (chunk: string) => {
        text += chunk;
        if (text.length > MAX_ANSWER) request.destroy(failed('Its answer has no end.'));
      });
      response.once('end', () => resolve({ status: response.statusCode ?? 0, text }));
    });
    request.setTimeout(PATIENCE_MS, () => request.destroy(failed('It did not answer in time.')));
    request.once('error', (cause) => reject(cause instanceof IdentityError ? cause : failed(undefined, cause)));
    request.end(body);
  });
}

export interface KeepRenewed {
  /** The credential's. */
  readonly directory: string;
  renew(credential: Credential): Promise<CertificateFiles>;
  readonly clock?: Clock;
  readonly signal: AbortSignal;
  /** Told of each success, and of each failure; trying goes on. */
  readonly told?: (
    outcome: { readonly kind: 'renewed' } | { readonly kind: 'failed'; readonly error: unknown },
  ) => void;
}

const FIRST_PAUSE_MS = 60_000;
const LONGEST_PAUSE_MS = 3_600_000;

/** Renews before the certificate runs out, for as long as the signal lasts: from two thirds of its life on, again and again. */
export async function keepRenewed({ directory, renew, clock = systemClock, signal, told }: KeepRenewed): Promise<void> {
  let pause = FIRST_PAUSE_MS;
  while (!signal.aborted) {
    try {
      const credential = openCredential(directory);
      const wait = renewalDueAt(credential) - clock.now();
      if (wait > 0) {
        // In pieces: a timer knows no more than 24 days, and a laptop sleeps.
        await clock.sleep(Math.min(wait, LONGEST_PAUSE_MS), signal);
        continue;
      }
      storeCertificate(directory, await renew(credential));
      told?.({ kind: 'renewed' });
      const isDueAgain = renewalDueAt(openCredential(directory)) <= clock.now();
      if (!isDueAgain) pause = FIRST_PAUSE_MS;
      // Near the end of its authority a certificate is so short that it is due at once: all devices would ask without pause.
      else pause = await rest(pause, { clock, signal });
    } catch (error) {
      if (signal.aborted) return;
      told?.({ kind: 'failed', error });
      pause = await rest(pause, { clock, signal });
    }
  }
}

/** Resolves to how long the next one is. */
async function rest(pause: number, { clock, signal }: { clock: Clock; signal: AbortSignal }): Promise<number> {
  await clock.sleep(pause, signal).catch(() => undefined);
  return Math.min(pause * 2, LONGEST_PAUSE_MS);
}

function failed(detail?: string, cause?: unknown): IdentityError {
  const message = `The daemon did not renew the certificate.${detail === undefined ? '' : ` ${detail}`}`;
  return new IdentityError('identity.renewal_failed', message, {
    fix: 'If the certificate has run out, see "A device that was off for weeks" in docs/reference/identity.md.',
    ...(cause === undefined ? {} : { cause }),
  });
}
