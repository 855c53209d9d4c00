import type { IncomingMessage } from 'node:http';
import type { TLSSocket } from 'node:tls';
import type { AppError } from '@palyra/primitives';
import { IdentityError, refused } from '../identity-error.ts';
import { createLeakyBuckets } from '../leaky-buckets.ts';
import type { IssueDeps } from '../registry/issue-device-certificate.ts';
import { answerJson, answerRefused, type GuardedHandler } from '../tls/guard-requests.ts';
import { type KeyShown, renewDevice } from './renew-device.ts';

/** Where a device asks for its next certificate, over its own mTLS connection. */
export const RENEWAL_PATH = '/identity/v1/renew';

export interface RenewalAnswer {
  readonly certificate: string;
  readonly authorities: string;
}

const MAX_BODY_BYTES = 16 * 1024;

/** So many for one device, and one more for each of these: a device that is due again and again asks seven times in two hours. */
const RENEWALS = { capacity: 10, refillMs: 10 * 60_000 } as const;

/**
 * `{"csr": BASE64}` in, or `{}` for the key that the connection proved; `RenewalAnswer` out. For `guardRequests`, at
 * `RENEWAL_PATH`: who asks is who the connection proved, whatever the body says.
 */
export function createRenewalEndpoint(deps: IssueDeps): GuardedHandler {
  const asked = createLeakyBuckets(deps.registry.context.clock, RENEWALS);
  return async (request, response, peer) => {
    if (request.method !== 'POST') return answerJson(response, 405, failure('Only POST is answered here.'));
    // SECURITY: T-39 — each renewal is signed by the authority and entered in the journal, for good; failures cost as much.
    if (asked.isFull(peer.device)) return answerRefused(response, refused('throttled'));
    asked.spend(peer.device);
    const shown = await readShown(request);
    if (shown === undefined) return answerJson(response, 400, failure('The body is {"csr": BASE64}, or {}.'));
    try {
      // SECURITY: T-36 — the device of the connection, which proved its key, and no other.
      const { device, kind, principal: by } = peer;
      const renewed = await renewDevice({ ...shown, device, kind, by }, deps);
      const answer: RenewalAnswer = { certificate: renewed.certificatePem, authorities: renewed.caPem };
      answerJson(response, 200, answer);
    } catch (error) {
      if (!(error instanceof IdentityError)) throw error;
      answerJson(response, 409, { error: { code: error.code, message: error.message, fix: error.fix } });
    }
  };
}

/** Undefined for anything but a small body of the one right shape. */
async function readShown(request: IncomingMessage): Promise<KeyShown | undefined> {
  const body = await readBody(request);
  if (body === undefined) return undefined;
  const { csr } = body;
  if (csr === undefined) return keyOfConnection(request);
  return typeof csr === 'string' ? { csrDer: Buffer.from(csr, 'base64') } : undefined;
}

/** TLS has proven it: no request says it any better. */
function keyOfConnection({ socket }: IncomingMessage): KeyShown | undefined {
  const certificate = (socket as Partial<TLSSocket>).getPeerX509Certificate?.();
  if (certificate === undefined) return undefined;
  return { publicKey: certificate.publicKey.export({ type: 'spki', format: 'der' }) };
}

/** SECURITY: T-39 — a few kilobytes are read, and what is more is not waited for. */
export async function readBody(request: IncomingMessage): Promise<Readonly<Record<string, unknown>> | undefined> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length > MAX_BODY_BYTES) return undefined;
    chunks.push(chunk);
  }
  try {
    const value = JSON.parse(Buffer.concat(chunks).toString('utf8')) as unknown;
    return typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>) : undefined;
  } catch {
    return undefined;
  }
}

function failure(message: string): { readonly error: Pick<AppError, 'code' | 'message'> } {
  return { error: { code: 'identity.invalid_request', message: message } };
}
