import type { HandlerContext } from '@connectrpc/connect';
import type { RunStreamResponseSchema, WatchRunResponseSchema } from '@palyra/api';
import type { RunEvents } from '../runs/read-events.ts';
import type { RunEvent } from '../runs/run-event.ts';
import { encodeMessage } from '../wire/encode-message.ts';
import { MESSAGE_BODY } from '../wire/message-body.ts';
import { wireRunEvent } from '../wire/run-event.ts';

export interface TellEventsOptions {
  /** What an event is told in. */
  readonly schema: typeof RunStreamResponseSchema | typeof WatchRunResponseSchema;
  readonly context: Pick<HandlerContext, 'values'>;
  /** How many bytes of output a message takes. */
  readonly room: number;
}

export interface Told {
  readonly event: ReturnType<typeof wireRunEvent>;
}

/** Tells them as they come, to their end. The first is given to the library, which answers with it; the others as bytes. */
export function tellEvents(
  events: RunEvents,
  options: TellEventsOptions,
): AsyncIterableIterator<Told, void, undefined> {
  return new ToldEvents(events, options);
}

/** What is more stays where it is until this has gone: whoever reads slowly costs no more for it. */
const ENOUGH_BYTES = 16 * 1024;

/** A class, and no loop that awaits: thousands of them stand idle, and what waits in an async function takes more memory. */
class ToldEvents implements AsyncIterableIterator<Told, void, undefined> {
  readonly #events: RunEvents;
  readonly #options: TellEventsOptions;
  #isBegun = false;
  #over: PromiseWithResolvers<IteratorResult<Told, void>> | undefined;

  constructor(events: RunEvents, options: TellEventsOptions) {
    this.#events = events;
    this.#options = options;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  next(): Promise<IteratorResult<Told, void>> {
    if (this.#isBegun && this.#body() !== undefined) return this.#pour();
    this.#isBegun = true;
    return this.#events
      .next()
      .then((next) => (next.done === true ? next : { done: false, value: this.#told(next.value) }));
  }

  async return(): Promise<IteratorResult<Told, void>> {
    await this.#events.return?.();
    return { done: true, value: undefined };
  }

  /** Resolves at the end of all: what happened by the end of a turn is one frame, record and write, and not one for each event. */
  #pour(): Promise<IteratorResult<Told, void>> {
    if (this.#over === undefined) {
      this.#over = Promise.withResolvers();
      this.#goOn();
    }
    return this.#over.promise;
  }

  #goOn(): void {
    this.#events.next().then(
      (found) => {
        if (found.done === true) this.#over?.resolve(found);
        // When all has been done that follows at once from what came in.
        else process.nextTick(() => this.#write(found.value));
      },
      (error: unknown) => this.#over?.reject(error),
    );
  }

  #write(first: RunEvent): void {
    try {
      const messages: Uint8Array[] = [];
      let bytes = 0;
      for (let event: RunEvent | undefined = first; event !== undefined; ) {
        const message = encodeMessage(this.#options.schema, this.#told(event));
        messages.push(message);
        bytes += message.length;
        event = bytes < ENOUGH_BYTES ? this.#events.ready() : undefined;
      }
      const room = this.#body()?.write(messages);
      // SECURITY: T-39 — who does not read is written no more than fits; the rest is kept within the bounds of the run.
      if (room === undefined) this.#goOn();
      else void room.then(() => this.#goOn());
    } catch (error) {
      this.#over?.reject(error);
      void this.#events.return?.();
    }
  }

  #told(event: RunEvent): Told {
    return { event: wireRunEvent(event, this.#options.room) };
  }

  #body() {
    return this.#options.context.values.get(MESSAGE_BODY);
  }
}
