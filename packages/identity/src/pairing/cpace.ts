import { createHmac } from 'node:crypto';
import { equalInConstantTime, type RandomBytes } from '@palyra/primitives';
import {
  type CpaceInputs,
  calculateGenerator,
  DOMAIN,
  sampleScalar,
  scalarMultiply,
  scalarMultiplyVerified,
  sha512,
} from './cpace-group.ts';
import { lengthValue } from './length-value.ts';

/** One side's message: a share of the key, and data that both then agree on. */
export interface CpaceMessage {
  readonly share: Uint8Array;
  readonly associatedData: Uint8Array;
}

/** One run of CPACE-RISTR255-SHA512 (draft-irtf-cfrg-cpace-21) on one side; the initiator speaks first. */
export interface CpaceRun {
  readonly message: CpaceMessage;
  /** Undefined when the run must be aborted: the other share is no element of the group, the identity, or our own. */
  finish(theirs: CpaceMessage): CpaceKey | undefined;
}

export interface CpaceKey {
  /** The draft's ISK: to be fed to a key derivation function, never used as it is. */
  readonly key: Uint8Array;
  /** What proves to the other side that we hold the key. */
  readonly proof: Uint8Array;
  /** Whether the other side proved it. Takes the same time wherever a wrong proof differs. */
  isProvenBy(proof: Uint8Array): boolean;
}

export interface CpaceRunInput {
  readonly role: 'initiator' | 'responder';
  readonly inputs: CpaceInputs;
  readonly associatedData: Uint8Array;
  readonly randomBytes: RandomBytes;
}

export function startCpace({ role, inputs, associatedData, randomBytes }: CpaceRunInput): CpaceRun {
  const scalar = sampleScalar(randomBytes);
  const ours: CpaceMessage = { share: scalarMultiply(scalar, calculateGenerator(inputs)), associatedData };
  return {
    message: ours,
    finish(theirs) {
      // SECURITY: T-34 — our own message sent back to us would be confirmed by our own proof.
      if (equalInConstantTime(theirs.share, ours.share)) return undefined;
      const point = scalarMultiplyVerified(scalar, theirs.share);
      if (point === undefined) return undefined;
      const [first, second] = role === 'initiator' ? [ours, theirs] : [theirs, ours];
      const { session } = inputs;
      return confirmable({ key: intermediateKey({ session, point, first, second }), session, ours, theirs });
    },
  };
}

interface KeyMaterial {
  readonly session: Uint8Array;
  readonly point: Uint8Array;
  readonly first: CpaceMessage;
  readonly second: CpaceMessage;
}

/** In the initiator-responder setting: the transcript is in the order of the messages. */
export function intermediateKey({ session, point, first, second }: KeyMaterial): Uint8Array {
  const domain = Buffer.concat([DOMAIN, Buffer.from('_ISK')]);
  return sha512(lengthValue(domain, session, point), written(first), written(second));
}

interface Confirmable {
  readonly key: Uint8Array;
  readonly session: Uint8Array;
  readonly ours: CpaceMessage;
  readonly theirs: CpaceMessage;
}

/** Explicit key confirmation as the draft suggests (10.4): each side's tag is over the message that it sent. */
function confirmable({ key, session, ours, theirs }: Confirmable): CpaceKey {
  const macKey = sha512(Buffer.from('CPaceMac'), session, key);
  const tag = (message: CpaceMessage): Uint8Array => createHmac('sha512', macKey).update(written(message)).digest();
  const expected = tag(theirs);
  return { key, proof: tag(ours), isProvenBy: (proof) => equalInConstantTime(proof, expected) };
}

function written({ share, associatedData }: CpaceMessage): Uint8Array {
  return lengthValue(share, associatedData);
}
