import type { MessageInitShape } from '@bufbuild/protobuf';
import type { Client } from '@connectrpc/connect';
import type { RunEvent, RunService, RunStreamRequestSchema } from '@palyra/api';

type Request = MessageInitShape<typeof RunStreamRequestSchema>;
export type Said = NonNullable<Request['message']>;

/** One RunStream of a client: messages are said by hand, events are kept. */
export interface ApiStream {
  say(message: Said): void;
  /** Half-closes it. */
  finish(): void;
  /** Resolves with the first event that fits, of those that came and that will come. Throws what the stream throws. */
  until(fits: (event: RunEvent) => boolean): Promise<RunEvent>;
  /** All until the stream ends. */
  rest(): Promise<readonly RunEvent[]>;
  readonly events: readonly RunEvent[];
  /** As a client that is gone. */
  drop(): void;
}

export function openStream(client: Client<typeof RunService>, first: Said): ApiStream {
  const gone = new AbortController();
  const said: Said[] = [first];
  let isFinished = false;
  let wake = Promise.withResolvers<void>();
  const ring = () => {
    wake.resolve();
    wake = Promise.withResolvers<void>();
  };
  async function* requests(): AsyncGenerator<Request> {
    for (;;) {
      const message = said.shift();
      if (message !== undefined) yield { message };
      else if (isFinished) return;
      else await wake.promise;
    }
  }
  const events: RunEvent[] = [];
  let over: { readonly error?: unknown } | undefined;
  let heard = Promise.withResolvers<void>();
  const read = async () => {
    for await (const { event } of client.runStream(requests(), { signal: gone.signal })) {
      if (event !== undefined) events.push(event);
      heard.resolve();
      heard = Promise.withResolvers<void>();
    }
  };
  void read()
    .then(
      () => ({}),
      (error: unknown) => ({ error }),
    )
    .then((how) => {
      over = how;
      heard.resolve();
    });
  const failed = () => (over !== undefined && 'error' in over ? [over.error] : []);
  return {
    events,
    say(message) {
      said.push(message);
      ring();
    },
    finish() {
      isFinished = true;
      ring();
    },
    async until(fits) {
      for (;;) {
        const found = events.find(fits);
        if (found !== undefined) return found;
        for (const error of failed()) throw error;
        if (over !== undefined) throw new Error(`It never came: ${events.map(kindOf).join(', ')}`);
        await heard.promise;
      }
    },
    async rest() {
      while (over === undefined) await heard.promise;
      for (const error of failed()) throw error;
      return events;
    },
    drop: () => gone.abort(),
  };
}

export const start = (): Said => ({ case: 'start', value: {} });
export const resume = (runId: string, afterSequence: bigint): Said => ({
  case: 'resume',
  value: { runId, afterSequence },
});

export function propose(key: string, tool: string, input: object): Said {
  return { case: 'propose', value: { key, tool, inputJson: JSON.stringify(input) } };
}

export function kindOf({ event }: RunEvent): string {
  return event.case ?? 'nothing';
}

/** Everything but when. */
export function withoutTime({ sequence, callId, callKey, event }: RunEvent): unknown {
  return { sequence, callId, callKey, event };
}

export const isKind =
  (kind: RunEvent['event']['case'], key?: string) =>
  (found: RunEvent): boolean =>
    found.event.case === kind && (key === undefined || found.callKey === key);
