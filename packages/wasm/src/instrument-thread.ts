import { type MessagePort, parentPort } from 'node:worker_threads';
import { type InstrumentResult, instrument } from './instrument.ts';
import type { ModuleLimits } from './limits.ts';

export interface InstrumentTask {
  readonly id: number;
  readonly bytes: Uint8Array;
  readonly limits: Partial<ModuleLimits>;
}

export interface InstrumentAnswer {
  readonly id: number;
  readonly result: InstrumentResult;
}

/** Meters one module after another, for as long as anybody sends some. */
const port = parentPort as MessagePort;

port.on('message', ({ id, bytes, limits }: InstrumentTask) => {
  // Whatever it throws ends the thread, which the other end takes for a refusal of all that waits.
  const answer: InstrumentAnswer = { id, result: instrument(bytes, limits) };
  port.postMessage(answer);
});
