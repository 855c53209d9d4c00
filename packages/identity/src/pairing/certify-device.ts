import type { Sha256Hex } from '@palyra/primitives';
import type { DeviceKind } from '../device-kind.ts';
import { IdentityError } from '../identity-error.ts';
import { within } from './frames.ts';
import type { Invitation } from './invitations.ts';
import { malformed } from './messages.ts';
import type { RunDeps } from './open-run.ts';
import { PairingError } from './pairing-error.ts';
import type { JoinerTerms } from './pairing-terms.ts';
import { refused } from './refusal.ts';
import { keyDigestOfRequest } from './request-key.ts';
import type { SealedChannel } from './sealed-channel.ts';

/** Makes a certificate for a request that is sound and signed with its own key; throws for any other. */
export type IssuePairedCertificate = (request: {
  readonly csrDer: Uint8Array;
  readonly kind: DeviceKind;
  readonly name: string;
  /** The id to issue under: that of the device being replaced, or coming back with its key. Else a new one. */
  readonly device?: string;
  /** Where the device is. */
  readonly address: string;
}) => Promise<{ readonly certificatePem: string; readonly caPem: string; readonly device: string }>;

/** What the registry has for a device id; undefined when it knows none of that id, or none that still counts. */
export type FindDevice = (
  device: string,
) => Promise<{ readonly key: Sha256Hex; readonly kind: DeviceKind } | undefined>;

/** What the operator is shown. Names have been checked, and are to be shown with `shownName`. */
export interface PairingRequest {
  readonly invitation: string;
  readonly kind: DeviceKind;
  readonly name: string;
  /** What the device calls itself: its own word. */
  readonly ownName: string;
  readonly address: string;
  /** SHA-256 of its public key. */
  readonly key: Sha256Hex;
  /** The known device that it will be. */
  readonly device?: string;
}

/** Aborted when the device has gone: then nobody needs an answer. */
export type ConfirmPairing = (request: PairingRequest, signal: AbortSignal) => Promise<'confirmed' | 'refused'>;

export interface CertifyDeps extends RunDeps {
  readonly issue: IssuePairedCertificate;
  readonly findDevice: FindDevice;
  readonly confirm: ConfirmPairing;
}

export interface Certified {
  readonly device: string;
  readonly acknowledged: boolean;
}

interface Candidate {
  readonly invitation: Invitation;
  readonly joiner: JoinerTerms;
  readonly peer: string;
  readonly sealed: SealedChannel;
  readonly gone: AbortSignal;
}

/** The device has proven the secret. It still gets nothing but a certificate, and that only when the operator says so. */
export async function certifyDevice(
  candidate: Candidate,
  deps: CertifyDeps & { readonly onIssued: (device: string) => void },
): Promise<Certified> {
  const { invitation, joiner, sealed, peer } = candidate;
  const { csr } = await sealed.receive('request', deps.deadlines.stepMs);
  // SECURITY: T-34 — the key of the request is the one that was agreed on under the secret.
  if (keyDigestOfRequest(csr) !== joiner.key) throw malformed();
  const known = await knownDevice(candidate, deps);

  sealed.send({ kind: 'asking' });
  const { id, kind, name } = invitation;
  const request = { invitation: id, kind, name, ownName: joiner.name, address: peer, key: joiner.key, ...known };
  await askOperator(request, candidate.gone, deps);

  // SECURITY: T-34 — kind and name are the invitation's. A certificate says who it is; what it may do is policy's.
  const issued = await issue({ csrDer: csr, kind, name, address: peer, ...known }, deps);
  deps.onIssued(issued.device);
  sealed.send({ kind: 'issued', certificate: issued.certificatePem, ca: issued.caPem, device: issued.device });
  const acknowledged = await sealed.receive('done', deps.deadlines.stepMs).then(
    () => true,
    () => false,
  );
  return { device: issued.device, acknowledged };
}

/** The id that the device shall have, where it is not a new one. Throws `pairing.device_known`. */
async function knownDevice(
  { invitation, joiner }: Candidate,
  { findDevice }: CertifyDeps,
): Promise<{ readonly device?: string }> {
  const { replaces } = invitation;
  if (replaces !== undefined) return { device: replaces };
  if (joiner.device === undefined) return {};
  const known = await findDevice(joiner.device);
  // An id that nobody has here means nothing: ids are ours to give.
  if (known === undefined) return {};
  // SECURITY: T-34 — knowing a PIN and an id must not be enough to become a device that is already there; nor may one that
  // was invited as an agent come back as the operator's device that it once was.
  if (known.key !== joiner.key || known.kind !== invitation.kind) throw refused({ code: 'pairing.device_known' });
  return { device: joiner.device };
}

async function askOperator(request: PairingRequest, gone: AbortSignal, deps: CertifyDeps): Promise<void> {
  const over = new AbortController();
  const signal = AbortSignal.any([gone, over.signal]);
  const left = new Promise<never>((_resolve, reject) => {
    const leave = (): void =>
      reject(new PairingError('pairing.closed', 'The device has gone.', { fix: 'Invite it again.' }));
    if (gone.aborted) leave();
    else gone.addEventListener('abort', leave, { once: true });
  });
  left.catch(() => undefined);
  try {
    const answer = await within(
      Promise.race([deps.confirm(request, signal), left]),
      deps.deadlines.operatorMs,
      deps.clock,
    ).catch((thrown: unknown) => {
      const isLate = thrown instanceof PairingError && thrown.code === 'pairing.timed_out';
      throw isLate ? refused({ code: 'pairing.not_confirmed' }) : thrown;
    });
    if (answer !== 'confirmed') throw refused({ code: 'pairing.refused' });
  } finally {
    over.abort();
  }
}

async function issue(
  request: Parameters<IssuePairedCertificate>[0],
  deps: CertifyDeps,
): Promise<Awaited<ReturnType<IssuePairedCertificate>>> {
  const issued = await deps.issue(request).catch((cause: unknown) => {
    throw notIssued(cause);
  });
  if (request.device === undefined || issued.device === request.device) return issued;
  throw notIssued(new Error('The issuer gave another device id than it was asked for.'));
}

/** The reason is for the operator; the device is told the code alone. */
function notIssued(cause: unknown): PairingError {
  const known = cause instanceof IdentityError ? cause : undefined;
  const why = known === undefined ? '' : ` ${known.message}`;
  return new PairingError('pairing.not_issued', `The CA did not issue the certificate.${why}`, {
    fix: known?.fix ?? 'The log says why.',
    cause,
    refusal: { code: 'pairing.not_issued' },
  });
}
