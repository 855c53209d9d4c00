import type { MessageInitShape } from '@bufbuild/protobuf';
import type { RunEvent, RunStreamRequestSchema, RunStreamResponse } from '@palyra/api';
import { ClientError } from '../client-error.ts';
import type { Reconnect } from '../connection/reconnect.ts';
import { translateError } from '../connection/translate-error.ts';
import { createOutbox, type Outbox } from './outbox.ts';

export type RunMessage = NonNullable<MessageInitShape<typeof RunStreamRequestSchema>['message']>;

export interface RunStreamDeps {
  readonly signal: AbortSignal;
  readonly reconnect: Reconnect;
  connect(): Promise<void>;
  /** Gives together what came together. */
  open(requests: AsyncIterable<{ message: RunMessage }>): AsyncIterable<readonly RunStreamResponse[]>;
  /** What a connection begins with: start or resume, then all that has no answer yet. */
  opening(): readonly RunMessage[];
  /** Nothing more is read until it resolves; to true when nothing follows. No promise when nobody has to be waited for. */
  hear(event: RunEvent): Promise<boolean> | boolean;
  /** Whether a lost connection is worth another one. */
  isWorthKeeping(): boolean;
}

/** One run's stream, opened again where it broke. */
export interface RunStream {
  /** At once, or not at all: `opening` says it again on the next connection. */
  tell(message: RunMessage): void;
  /** Until nothing follows. Throws `ClientError` when it gives up. */
  keep(): Promise<void>;
}

type Requests = Outbox<{ message: RunMessage }>;

export function createRunStream(deps: RunStreamDeps): RunStream {
  const { signal, reconnect } = deps;
  let current: Requests | undefined;

  async function attempt(): Promise<'over'> {
    await deps.connect();
    reconnect.opened();
    const outbox: Requests = createOutbox();
    for (const message of deps.opening()) outbox.push({ message });
    current = outbox;
    try {
      for await (const responses of deps.open(outbox.items)) {
        reconnect.heard();
        for (const { event } of responses) {
          const isLast = event !== undefined && deps.hear(event);
          if (typeof isLast === 'boolean' ? isLast : await isLast) return 'over';
        }
      }
      throw new ClientError('client.unreachable', 'palyrad ended the stream of the run.');
    } finally {
      current = undefined;
      outbox.close();
    }
  }
  return {
    tell(message) {
      current?.push({ message });
    },
    async keep() {
      for (;;) {
        try {
          await attempt();
          return;
        } catch (thrown) {
          const error = translateError(thrown);
          if (!deps.isWorthKeeping()) throw error;
          await reconnect.pause(error, signal);
        }
      }
    },
  };
}
