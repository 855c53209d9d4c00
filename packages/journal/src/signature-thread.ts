import { type MessagePort, parentPort } from 'node:worker_threads';
import { verifyNow } from './node-crypto.ts';
import { unpackSigned } from './packed-signatures.ts';

export interface SignatureTask {
  readonly id: number;
  /** As `packSigned` has them. */
  readonly packed: Uint8Array;
}

export interface SignatureAnswer {
  readonly id: number;
  /** In their order; 1: the signature holds. */
  readonly holds: Uint8Array;
}

/** Checks one batch of signatures after another, for as long as anybody sends some. */
const port = parentPort as MessagePort;

port.on('message', ({ id, packed }: SignatureTask) => {
  // Whatever it throws ends the thread, and the other end has the batch checked elsewhere.
  const answer: SignatureAnswer = {
    id,
    holds: Uint8Array.from(unpackSigned(packed), (one) => (verifyNow(one) ? 1 : 0)),
  };
  port.postMessage(answer);
});
