import { createBell } from './bell.ts';

/** What a caller sends to a call while it runs. */
export type SentInput =
  | { readonly kind: 'bytes'; readonly bytes: Uint8Array }
  | { readonly kind: 'end' }
  | { readonly kind: 'resize'; readonly rows: number; readonly columns: number }
  | { readonly kind: 'signal'; readonly name: string };

/** It, on its way to the tool. */
export interface CallInput {
  readonly attached: AsyncIterable<SentInput>;
  /** Resolves when there is room for more: whoever sends waits for a tool that does not read. */
  send(input: SentInput): Promise<void>;
  /** The call is over: what is sent is dropped. */
  close(): void;
}

/** Of bytes that the tool has not yet read. */
const ROOM = 256 * 1024;
/** A terminal that is resized all the time. */
const MOST_WAITING = 1024;

export function createCallInput(): CallInput {
  const waiting: SentInput[] = [];
  let bytes = 0;
  let isClosed = false;
  const bell = createBell();
  const take = (): SentInput | undefined => {
    const first = waiting.shift();
    if (first?.kind === 'bytes') bytes -= first.bytes.length;
    return first;
  };
  const close = () => {
    isClosed = true;
    waiting.length = 0;
    bell.ring();
  };

  return {
    attached: {
      [Symbol.asyncIterator]: () => ({
        async next() {
          while (!isClosed) {
            const input = take();
            if (input === undefined) await bell.wait(bell.rung);
            else {
              bell.ring();
              return { done: false, value: input };
            }
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
      while (!isClosed && (bytes >= ROOM || waiting.length >= MOST_WAITING)) await bell.wait(bell.rung);
      if (isClosed) return;
      waiting.push(input);
      if (input.kind === 'bytes') bytes += input.bytes.length;
      bell.ring();
    },
    close,
  };
}
