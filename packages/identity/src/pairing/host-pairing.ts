import { reveal, type Sha256Hex } from '@palyra/primitives';
import type { BackOff } from './back-off.ts';
import { type CertifyDeps, certifyDevice } from './certify-device.ts';
import { startCpace } from './cpace.ts';
import type { Claim, Invitation, InvitationBook, InvitationTry } from './invitations.ts';
import { decodeMessage, type Hello, malformed, NONCE_BYTES, versionsOf } from './messages.ts';
import { asPairingError, type ClearChannel, createClearChannel, type PairingConnection } from './open-run.ts';
import { PairingError } from './pairing-error.ts';
import {
  channelIdentifier,
  decodeJoinerTerms,
  encodeHostTerms,
  type JoinerTerms,
  PROTOCOL_VERSION,
  pakeSecret,
} from './pairing-terms.ts';
import { refused } from './refusal.ts';
import { createSealedChannel, type SealedChannel } from './sealed-channel.ts';

export interface HostDeps extends CertifyDeps {
  readonly book: InvitationBook;
  readonly backOff: BackOff;
  /** SHA-256 of the CA's certificate. */
  readonly ca: Sha256Hex;
  readonly onProgress: (event: HostProgress) => void;
}

/** For whoever watches; nothing is decided by it. */
export type HostProgress =
  | { readonly kind: 'connected'; readonly peer: string }
  | { readonly kind: 'trying'; readonly peer: string; readonly invitation: string; readonly triesLeft: number }
  | { readonly kind: 'proven'; readonly peer: string; readonly invitation: string; readonly ownName: string }
  | { readonly kind: 'issued'; readonly peer: string; readonly device: string }
  | { readonly kind: 'paired'; readonly peer: string; readonly device: string; readonly acknowledged: boolean }
  | { readonly kind: 'dropped'; readonly peer: string; readonly error: PairingError };

/** One connection, from its first byte to its end. Never rejects: what went wrong is an event, and told to the device. */
export async function hostPairing(connection: PairingConnection, deps: HostDeps): Promise<void> {
  const { peer } = connection;
  const clear = createClearChannel(connection, deps);
  try {
    deps.onProgress({ kind: 'connected', peer });
    const greeted = await greet(clear, peer, deps);
    const proven = await prove({ clear, connection, greeted }, deps);
    await certify({ ...proven, peer, gone: clear.frames.gone }, deps);
  } catch (thrown) {
    deps.onProgress({ kind: 'dropped', peer, error: asPairingError(thrown) });
  } finally {
    clear.frames.end();
  }
}

interface Greeted {
  readonly hello: Hello;
  readonly invitation: Invitation;
  readonly session: Uint8Array;
  /** As they were on the wire. */
  readonly wire: { readonly hello: Uint8Array; readonly welcome: Uint8Array };
}

async function greet(clear: ClearChannel, peer: string, deps: HostDeps): Promise<Greeted> {
  try {
    refuseImpatient(peer, deps);
    const helloBytes = await clear.receiveBytes();
    if (!versionsOf(helloBytes)?.includes(PROTOCOL_VERSION)) throw otherVersion(helloBytes);
    const hello = decodeMessage('hello', helloBytes);
    const invitation = deps.book.find(hello.invitation);
    const nonce = deps.randomBytes(NONCE_BYTES);
    const welcome = clear.send({ kind: 'welcome', version: PROTOCOL_VERSION, nonce });
    // SECURITY: T-34 — half of the session's name is ours and new, as our share is: either alone keeps recordings out.
    const session = Buffer.concat([hello.nonce, nonce]);
    return { hello, invitation, session, wire: { hello: helloBytes, welcome } };
  } catch (thrown) {
    throw tellClear(thrown, { clear, peer, how: 'garbled' }, deps);
  }
}

function refuseImpatient(peer: string, { backOff }: HostDeps): void {
  const retryAfterMs = backOff.waitFor(peer);
  if (retryAfterMs > 0) throw new TooEarly(retryAfterMs);
}

class TooEarly extends PairingError {
  constructor(retryAfterMs: number) {
    const { code, message, fix, refusal } = refused({ code: 'pairing.slow_down', retryAfterMs });
    super(code, message, { ...(fix === undefined ? {} : { fix }), ...(refusal === undefined ? {} : { refusal }) });
  }
}

function otherVersion(hello: Uint8Array): PairingError {
  if (versionsOf(hello) === undefined) return malformed();
  return refused({ code: 'pairing.version_mismatch', versions: [PROTOCOL_VERSION] });
}

interface Telling {
  readonly clear: ClearChannel;
  readonly peer: string;
  readonly how: 'tried' | 'garbled';
}

/** Counts the failure and tells the device, in the clear because nothing else is agreed on yet. */
function tellClear(thrown: unknown, { clear, peer, how }: Telling, { backOff }: HostDeps): PairingError {
  const error = asPairingError(thrown);
  // Coming too early is refused, not punished again: otherwise a patient retry could never succeed.
  // SECURITY: T-34 — our own word only: a peer that says so itself, after it has seen our share, has failed like any other.
  if (!(thrown instanceof TooEarly)) backOff.failed(peer, how);
  if (error.refusal !== undefined) clear.refuse(error.refusal);
  return error;
}

interface Proving {
  readonly clear: ClearChannel;
  readonly connection: PairingConnection;
  readonly greeted: Greeted;
}

interface Proven {
  readonly invitation: Invitation;
  readonly claim: Claim;
  readonly joiner: JoinerTerms;
  readonly sealed: SealedChannel;
}

async function prove(input: Proving, deps: HostDeps): Promise<Proven> {
  const { clear, greeted, connection } = input;
  const { peer } = connection;
  const { invitation, hello } = greeted;
  let attempt: InvitationTry | undefined;
  try {
    const { share, associatedData } = await clear.receive('share');
    const joiner = decodeJoinerTerms(associatedData);
    refuseImpatient(peer, deps);
    attempt = deps.book.startTry(invitation.id, hello.means);
    deps.onProgress({ kind: 'trying', peer, invitation: invitation.id, triesLeft: attempt.triesLeft });
    const run = startRun(attempt, input, deps);
    const key = run.finish({ share, associatedData });
    if (key === undefined) throw malformed();
    clear.send({ kind: 'share', ...run.message });
    const { proof } = await clear.receive('proof');
    // SECURITY: T-34 — the device proves first; until it has, it learns nothing that would let it check a guess twice.
    if (!key.isProvenBy(proof)) throw refused({ code: 'pairing.wrong_pin', triesLeft: attempt.triesLeft });
    const claim = attempt.claim();
    deps.backOff.succeeded(peer);
    clear.send({ kind: 'proof', proof: key.proof });
    deps.onProgress({ kind: 'proven', peer, invitation: invitation.id, ownName: joiner.name });
    const sealed = createSealedChannel(clear.frames, { role: 'host', key: key.key, session: greeted.session });
    return { invitation, claim, joiner, sealed };
  } catch (thrown) {
    attempt?.failed();
    throw tellClear(thrown, { clear, peer, how: attempt === undefined ? 'garbled' : 'tried' }, deps);
  }
}

function startRun(
  attempt: InvitationTry,
  { connection, greeted }: Proving,
  { ca, clock, randomBytes }: HostDeps,
): ReturnType<typeof startCpace> {
  const { hello, invitation, session, wire } = greeted;
  const { kind, name } = invitation;
  return startCpace({
    role: 'responder',
    inputs: {
      secret: pakeSecret(hello.means, reveal(attempt.secret)),
      channel: channelIdentifier({ exporter: connection.exporter, ...wire }),
      session,
    },
    associatedData: encodeHostTerms({ ca, kind, name, time: clock.now() }),
    randomBytes,
  });
}

/** From here on the invitation is used up, however it ends. */
async function certify(
  { claim, ...input }: Proven & { readonly peer: string; readonly gone: AbortSignal },
  deps: HostDeps,
): Promise<void> {
  const { peer, sealed } = input;
  try {
    const { device, acknowledged } = await certifyDevice(input, {
      ...deps,
      onIssued: (issued) => deps.onProgress({ kind: 'issued', peer, device: issued }),
    });
    claim.end({ kind: 'paired', device, acknowledged });
    deps.onProgress({ kind: 'paired', peer, device, acknowledged });
  } catch (thrown) {
    const error = asPairingError(thrown);
    if (error.refusal !== undefined) sealed.refuse(error.refusal);
    claim.end({ kind: 'failed', error });
    throw error;
  }
}
