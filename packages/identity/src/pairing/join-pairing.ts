import { reveal, type SecretText, type Sha256Hex, sha256Hex } from '@palyra/primitives';
import type { DeviceKind } from '../device-kind.ts';
import { checkClocks, checkIssued } from './check-issued.ts';
import { startCpace } from './cpace.ts';
import { decodeMessage, type Hello, type Means, malformed, NONCE_BYTES } from './messages.ts';
import {
  asPairingError,
  type ClearChannel,
  createClearChannel,
  type PairingConnection,
  type RunDeps,
} from './open-run.ts';
import { PairingError } from './pairing-error.ts';
import {
  channelIdentifier,
  decodeHostTerms,
  encodeJoinerTerms,
  type HostTerms,
  PROTOCOL_VERSION,
  pakeSecret,
} from './pairing-terms.ts';
import { refused } from './refusal.ts';
import { createSealedChannel, type SealedChannel } from './sealed-channel.ts';

/** A key made on this device, and the request to certify it. */
export interface CertificateRequest {
  readonly csrDer: Uint8Array;
  readonly privateKeyPem: string;
  /** SubjectPublicKeyInfo. */
  readonly publicKeySpkiDer: Uint8Array;
}

export type MakeRequest = (name: string) => Promise<CertificateRequest>;

export interface JoinInput {
  readonly means: Means;
  readonly secret: SecretText;
  /** What this device calls itself. */
  readonly name: string;
  readonly invitation?: string;
  /** The CA that the join URL names. */
  readonly ca?: Sha256Hex;
  /** The id that this device had before. */
  readonly device?: string;
}

export interface JoinDeps extends RunDeps {
  readonly makeRequest: MakeRequest;
  readonly onProgress: (event: JoinProgress) => void;
}

export type JoinProgress =
  | { readonly kind: 'connected' }
  | { readonly kind: 'proven'; readonly ca: Sha256Hex; readonly deviceKind: DeviceKind; readonly name: string }
  | { readonly kind: 'asking' }
  | { readonly kind: 'issued'; readonly device: string };

export interface JoinedDevice {
  readonly device: string;
  readonly kind: DeviceKind;
  readonly name: string;
  readonly certificatePem: string;
  readonly caPem: string;
  /** SHA-256 of the CA's certificate. */
  readonly ca: Sha256Hex;
  readonly privateKeyPem: string;
}

/** The device's side of one run. Throws `PairingError`. */
export async function joinPairing(
  connection: PairingConnection,
  input: JoinInput,
  deps: JoinDeps,
): Promise<JoinedDevice> {
  const request = await deps.makeRequest(input.name);
  const clear = createClearChannel(connection, deps);
  try {
    deps.onProgress({ kind: 'connected' });
    const { host, sealed } = await prove({ clear, connection, input, request }, deps);
    deps.onProgress({ kind: 'proven', ca: host.ca, deviceKind: host.kind, name: host.name });
    return await fetchCertificate({ sealed, host, request }, deps);
  } finally {
    clear.frames.end();
  }
}

interface Proving {
  readonly clear: ClearChannel;
  readonly connection: PairingConnection;
  readonly input: JoinInput;
  readonly request: CertificateRequest;
}

interface Proven {
  readonly host: HostTerms;
  readonly sealed: SealedChannel;
}

async function prove({ clear, connection, input, request }: Proving, deps: JoinDeps): Promise<Proven> {
  const hello = helloOf(input, deps);
  const sent = clear.send(hello);
  const welcomeBytes = await clear.receiveBytes();
  const welcome = readWelcome(welcomeBytes);
  const session = Buffer.concat([hello.nonce, welcome.nonce]);
  const run = startCpace({
    role: 'initiator',
    inputs: {
      secret: pakeSecret(input.means, reveal(input.secret)),
      channel: channelIdentifier({ exporter: connection.exporter, hello: sent, welcome: welcomeBytes }),
      session,
    },
    associatedData: encodeJoinerTerms({
      name: input.name,
      key: sha256Hex(request.publicKeySpkiDer),
      ...(input.device === undefined ? {} : { device: input.device }),
    }),
    randomBytes: deps.randomBytes,
  });
  clear.send({ kind: 'share', ...run.message });
  const { share, associatedData } = await clear.receive('share');
  const host = decodeHostTerms(associatedData);
  checkCa(host.ca, input.ca);
  const key = run.finish({ share, associatedData });
  if (key === undefined) throw malformed();
  clear.send({ kind: 'proof', proof: key.proof });
  const { proof } = await clear.receive('proof');
  // SECURITY: T-34 — a host that cannot prove the secret is not the one that showed it: nothing it says is believed.
  if (!key.isProvenBy(proof)) throw hostNotProven();
  return { host, sealed: createSealedChannel(clear.frames, { role: 'joiner', key: key.key, session }) };
}

function helloOf({ means, invitation }: JoinInput, { randomBytes }: JoinDeps): Hello {
  const named = invitation === undefined ? {} : { invitation };
  return { kind: 'hello', versions: [PROTOCOL_VERSION], nonce: randomBytes(NONCE_BYTES), means, ...named };
}

function readWelcome(bytes: Uint8Array): { readonly nonce: Uint8Array } {
  const welcome = decodeMessage('welcome', bytes);
  if (welcome.version === PROTOCOL_VERSION) return welcome;
  throw refused({ code: 'pairing.version_mismatch', versions: [welcome.version] });
}

function checkCa(found: Sha256Hex, expected: Sha256Hex | undefined): void {
  // SECURITY: T-34 — the join URL names the CA, so not even somebody who has seen the code can put another in its place.
  if (expected === undefined || found === expected) return;
  throw new PairingError('pairing.other_ca', 'The CA of the host is not the one that the join URL names.', {
    fix: 'Ask the operator for a new join URL; somebody may be between you and the host.',
  });
}

function hostNotProven(): PairingError {
  return new PairingError(
    'pairing.host_not_proven',
    'The other side did not prove that it knows the PIN or the code.',
    {
      fix: 'Check the address; somebody may be between you and the host. Use no PIN twice.',
    },
  );
}

interface Fetching {
  readonly sealed: SealedChannel;
  readonly host: HostTerms;
  readonly request: CertificateRequest;
}

async function fetchCertificate({ sealed, host, request }: Fetching, deps: JoinDeps): Promise<JoinedDevice> {
  const { clock, deadlines } = deps;
  try {
    // Before anything is issued: a certificate that is not valid here would only use up the invitation and an id.
    checkClocks(host.time, clock.now());
    sealed.send({ kind: 'request', csr: request.csrDer });
    await sealed.receive('asking', deadlines.stepMs);
    deps.onProgress({ kind: 'asking' });
    const { certificate, ca, device } = await sealed.receive('issued', deadlines.answerMs);
    const { publicKeySpkiDer, privateKeyPem } = request;
    checkIssued({ certificate, ca }, { ca: host.ca, publicKeySpkiDer, now: clock.now() });
    sealed.send({ kind: 'done' });
    deps.onProgress({ kind: 'issued', device });
    const { kind, name } = host;
    return { device, kind, name, certificatePem: certificate, caPem: ca, ca: host.ca, privateKeyPem };
  } catch (thrown) {
    const error = asPairingError(thrown);
    if (error.refusal !== undefined) sealed.refuse(error.refusal);
    throw error;
  }
}
