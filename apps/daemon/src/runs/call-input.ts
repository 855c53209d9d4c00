import type { AttachedInput, AttachedSource } from '@palyra/gateway';
import { type Bell, createBell } from './bell.ts';

/** What a caller sends to a call while it runs, on its way to the tool. */
export interface CallInput {
  readonly attached: AttachedSource;
  /** Resolves when there is room for more: whoever sends bytes waits for a tool that does not read. */
  send(input: AttachedInput): Promise<void>;
  /** The call is over: what is sent is dropped. */
  close(): void;
}

/** Of bytes that the tool has not yet read. */
const ROOM = 256 * 1024;
/** Of small pieces, and of what a terminal that is resized all the time sends. */
const MOST_WAITING = 1024;

export function createCallInput(): CallInput {
  const bell = createBell();
  const bytes = createQueue(bell);
  const controls = createQueue(bell);
  return {
    attached: { ...bytes.items, controls: controls.items },
    // A signal does not wait behind bytes that nobody reads.
    send: (input) => (input.kind === 'bytes' || input.kind === 'end' ? bytes : controls).send(input),
    close() {
      bytes.close();
      controls.close();
    },
  };
}

interface Queue {
  readonly items: AsyncIterable<AttachedInput>;
  send(input: AttachedInput): Promise<void>;
  close(): void;
}

function createQueue(bell: Bell): Queue {
  let waiting: AttachedInput[] | undefined = [];
  let held = 0;
  const take = (): AttachedInput | undefined => {
    const first = waiting?.shift();
    if (first?.kind === 'bytes') held -= first.bytes.length;
    return first;
  };
  const close = () => {
    waiting = undefined;
    bell.ring();
  };
  return {
    items: {
      [Symbol.asyncIterator]: () => ({
        async next() {
          while (waiting !== undefined) {
            const rung = bell.rung();
            const value = take();
            if (value !== undefined) {
              bell.ring();
              return { done: false, value };
            }
            await bell.wait(rung);
          }
          return { done: true, value: undefined };
        },
        async return() {
          close();
          return { done: true, value: undefined };
        },
      }),
    },
    async send(input) {
      // SECURITY: T-39 — a tool that never reads costs no more than this, however much is sent to it.
      while (waiting !== undefined && (held >= ROOM || waiting.length >= MOST_WAITING)) await bell.wait(bell.rung());
      if (waiting === undefined) return;
      waiting.push(input);
      if (input.kind === 'bytes') held += input.bytes.length;
      bell.ring();
    },
    close,
  };
}
