import type { MessageInitShape } from '@bufbuild/protobuf';
import type { CallInputSchema } from '@palyra/api';

/** Something for a running call. */
export type AttachedInput =
  /** For its standard input. */
  | { readonly kind: 'bytes'; readonly bytes: Uint8Array }
  /** The end of its standard input. */
  | { readonly kind: 'end' }
  /** The terminal has another size. */
  | { readonly kind: 'resize'; readonly rows: number; readonly columns: number }
  /** Such as `SIGINT`. */
  | { readonly kind: 'signal'; readonly name: string };

export interface InputPump {
  /** Begins once; the call has to be known to palyrad by then. */
  start(): void;
  stop(): void;
}

export interface InputPumpDeps {
  readonly input: AsyncIterable<AttachedInput>;
  /** Resolves when palyrad took it. What it throws leaves open whether it did. */
  feed(input: WireInput): Promise<unknown>;
  /** The input ended in an error of its own. */
  failed(error: unknown): void;
  /** Some of it may not have arrived. */
  missing(error: unknown): void;
}

export type WireInput = NonNullable<MessageInitShape<typeof CallInputSchema>['input']>;

export function createInputPump({ input, feed, failed, missing }: InputPumpDeps): InputPump {
  const items = input[Symbol.asyncIterator]();
  let state: 'waiting' | 'running' | 'stopped' = 'waiting';

  async function pump(): Promise<void> {
    let fed: Promise<unknown> = Promise.resolve();
    while (state === 'running') {
      const item = await items.next();
      if (item.done === true || state !== 'running') break;
      if (item.value.kind === 'resize' || item.value.kind === 'signal') {
        // They overtake bytes that a tool does not read: that may be why it is to be stopped. A lost one harms nobody.
        feed(toWire(item.value)).catch(() => undefined);
        continue;
      }
      // In order, and one at a time: a slow tool slows its writer, and nothing piles up.
      await fed;
      if (state !== 'running') break;
      fed = feed(toWire(item.value)).catch((error: unknown) => {
        stop();
        missing(error);
      });
    }
  }
  function stop(): void {
    if (state === 'stopped') return;
    state = 'stopped';
    // Not awaited: a source that waits for a key press answers when it is pressed.
    items.return?.().catch(() => undefined);
  }
  return {
    start() {
      if (state !== 'waiting') return;
      state = 'running';
      pump().catch(failed);
    },
    stop,
  };
}

function toWire(input: AttachedInput): WireInput {
  switch (input.kind) {
    case 'bytes':
      return { case: 'data', value: input.bytes };
    case 'end':
      return { case: 'end', value: {} };
    case 'resize':
      return { case: 'resize', value: { rows: input.rows, columns: input.columns } };
    case 'signal':
      return { case: 'signal', value: input.name };
  }
}
