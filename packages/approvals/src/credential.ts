import type { Assurance } from './question.ts';

/** Who decides, as the daemon authenticated it. */
export interface DeciderIdentity {
  readonly credential: string;
  /** The human behind the credential; one person may have several. */
  readonly person: string;
  readonly device: string | null;
  readonly assurance: Assurance;
}

/** A decider whose key is at hand: in the terminal's own process, or at the other end of a connection. */
export interface Decider extends DeciderIdentity {
  sign(message: Uint8Array): Promise<Uint8Array> | Uint8Array;
}

export interface SignedMessage {
  readonly credential: string;
  readonly message: Uint8Array;
  readonly signature: Uint8Array;
}

/** What identity's registry knows of a credential, now and not when it signed. */
export interface VerifiedSigner extends Omit<DeciderIdentity, 'credential'> {
  readonly kind: 'human' | 'agent';
}

/** Undefined when the signature is not one of this credential, or the credential does not count any more. */
export type VerifySignature = (signed: SignedMessage) => Promise<VerifiedSigner | undefined>;
