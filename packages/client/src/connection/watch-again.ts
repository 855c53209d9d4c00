import { ClientError, clientClosed } from '../client-error.ts';
import type { Reconnect } from './reconnect.ts';
import { translateError } from './translate-error.ts';

export interface StreamDeps {
  /** Of the client. */
  readonly signal: AbortSignal;
  connect(): Promise<void>;
  createReconnect(): Reconnect;
}

export interface Watched<Message> {
  /** Asked again for each connection, so that it can begin where the last one ended. */
  open(signal: AbortSignal): AsyncIterable<Message>;
  /** Ends the watching, without an error. */
  readonly stop: AbortSignal | undefined;
}

export type Told<Message> =
  | { readonly kind: 'opened' }
  | { readonly kind: 'told'; readonly message: Message /** Begins anew. */; reopen(): void };

/** A stream from palyrad that has no end of its own, opened again where it broke. Throws `ClientError` when it gives up. */
export async function* watchAgain<Message>(
  { open, stop }: Watched<Message>,
  deps: StreamDeps,
): AsyncGenerator<Told<Message>, void> {
  const signal = stop === undefined ? deps.signal : AbortSignal.any([deps.signal, stop]);
  const reconnect = deps.createReconnect();
  for (;;) {
    try {
      await deps.connect();
      reconnect.opened();
      yield { kind: 'opened' };
      let isStale = false;
      const reopen = (): void => {
        isStale = true;
      };
      for await (const message of open(signal)) {
        reconnect.heard();
        yield { kind: 'told', message, reopen };
        if (isStale) break;
      }
      throw new ClientError('client.unreachable', 'palyrad ended the stream.');
    } catch (thrown) {
      if (stop?.aborted === true) return;
      if (deps.signal.aborted) throw clientClosed();
      await reconnect.pause(translateError(thrown), signal);
    }
  }
}

/** One call that may be made twice, made again when the connection was lost. Throws `ClientError`. */
export async function askAgain<Answer>(answer: () => Promise<Answer>, deps: StreamDeps): Promise<Answer> {
  const reconnect = deps.createReconnect();
  for (;;) {
    try {
      return await answer();
    } catch (thrown) {
      if (deps.signal.aborted) throw clientClosed();
      await reconnect.pause(translateError(thrown), deps.signal);
    }
  }
}
