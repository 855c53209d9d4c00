import type { RunMessage } from './run-stream.ts';

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
  /** Whether bytes were on their way: after a lost connection nobody knows whether they arrived. */
  hasSentBytes(): boolean;
}

export interface InputPumpDeps {
  readonly key: string;
  readonly input: AsyncIterable<AttachedInput>;
  deliver(message: RunMessage): Promise<void>;
  failed(error: unknown): void;
}

export function createInputPump({ key, input, deliver, failed }: InputPumpDeps): InputPump {
  const items = input[Symbol.asyncIterator]();
  let state: 'waiting' | 'running' | 'stopped' = 'waiting';
  let sentBytes = false;

  async function pump(): Promise<void> {
    while (state === 'running') {
      const item = await items.next();
      if (item.done === true || state !== 'running') return;
      // Taken by the connection before the next one is asked for: a slow tool slows its writer, and nothing piles up.
      await deliver({ case: 'input', value: { key, input: toWire(item.value) } });
      sentBytes ||= item.value.kind === 'bytes' || item.value.kind === 'end';
    }
  }
  return {
    start() {
      if (state !== 'waiting') return;
      state = 'running';
      pump().catch(failed);
    },
    stop() {
      if (state === 'stopped') return;
      state = 'stopped';
      // Not awaited: a source that waits for a key press answers when it is pressed.
      items.return?.().catch(() => undefined);
    },
    hasSentBytes: () => sentBytes,
  };
}

type WireInput = NonNullable<Extract<RunMessage, { case: 'input' }>['value']['input']>;

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
