import type { HostEnd, StartHost } from '@palyra/wasm';
import { createFrameReader } from '../../packages/wasm/src/host/frames.ts';
import {
  type CallMessage,
  HELLO,
  type LoadedMessage,
  loadedFrame,
  type ResultMessage,
  readCall,
  TO_HOST,
} from '../../packages/wasm/src/host/messages.ts';

export const RESULT: Omit<ResultMessage, 'id'> = {
  end: 'completed',
  reused: false,
  fuelUsed: 1n,
  hostCalls: 0,
  exitCode: 0,
  memoryPages: 1,
  log: Buffer.alloc(0),
  message: '',
  output: Buffer.from('"mine"'),
};

export interface Taken {
  readonly startHost: StartHost<string>;
  readonly killed: string[];
  readonly started: string[];
}

/** What one says to a call: at once, or when it likes. */
export type Says = (call: CallMessage, say: (frame: Buffer) => void) => readonly Buffer[];

/** A host that speaks our language and does as the attacker likes. */
export function takenHost(answer: Says, loaded: LoadedMessage = { kind: 'ready', restorable: true }): Taken {
  const killed: string[] = [];
  const started: string[] = [];
  const startHost: StartHost<string> = async ({ onOutput }) => {
    const name = `host ${started.length + 1}`;
    started.push(name);
    const ended = Promise.withResolvers<HostEnd>();
    const reader = createFrameReader();
    queueMicrotask(() => onOutput(HELLO));
    return {
      kind: 'started',
      host: {
        about: name,
        ended: ended.promise,
        kill() {
          killed.push(name);
          ended.resolve({ reason: 'other', message: 'It was ended.' });
        },
        write(bytes) {
          const copy = Buffer.from(bytes);
          // In its own time, as a process would: an answer may be followed by the next order within this very call.
          queueMicrotask(() =>
            reader.push(copy, ({ type, body }) => {
              if (type === TO_HOST.load) onOutput(loadedFrame(loaded));
              if (type === TO_HOST.call) for (const frame of answer(readCall(body), onOutput)) onOutput(frame);
            }),
          );
        },
      },
    };
  };
  return { startHost, killed, started };
}
