import type { Credential } from '../credentials/credential.ts';
import type { Peer } from '../tls/peer.ts';
import type { Assurance } from './assurance.ts';

/** Somebody who can answer a question, with the key of their device at hand: the `Decider` of approvals. */
export interface DeviceDecider {
  /** The id of the device. */
  readonly credential: string;
  readonly person: string;
  readonly device: string;
  readonly assurance: Assurance;
  sign(message: Uint8Array): Uint8Array;
}

/** `known` is what the daemon says of this device; a statement that names more does not verify. */
export function deviceDecider(
  { device, key }: Pick<Credential, 'device' | 'key'>,
  known: Pick<Peer, 'principal' | 'assurance'>,
): DeviceDecider {
  return {
    credential: device,
    person: known.principal,
    device,
    assurance: known.assurance,
    sign: (message) => key.sign(message),
  };
}
