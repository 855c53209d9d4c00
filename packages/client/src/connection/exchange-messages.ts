import {
  create,
  type DescMessage,
  type DescMethodBiDiStreaming,
  fromBinary,
  type MessageInitShape,
  type MessageShape,
  toBinary,
} from '@bufbuild/protobuf';
import { Code, ConnectError } from '@connectrpc/connect';
import { createMethodUrl, type UniversalClientFn } from '@connectrpc/connect/protocol';
import {
  endStreamFlag,
  endStreamFromJson,
  requestHeader,
  validateResponse,
} from '@connectrpc/connect/protocol-connect';
import { createEnvelopeReader, envelope } from './envelopes.ts';

export interface ExchangeDeps {
  readonly baseUrl: string;
  readonly httpClient: UniversalClientFn;
  readonly headers: Readonly<Record<string, string>>;
  /** How many bytes a message has at most. */
  readonly most: number;
}

export interface Exchange<Method extends DescMethodBiDiStreaming> {
  readonly method: Method;
  readonly requests: AsyncIterable<MessageInitShape<Method['input']>>;
  readonly signal: AbortSignal;
}

/**
 * A call with messages both ways, by the protocol of Connect. Its transport does the same, but each message goes through a
 * dozen async generators there; here all that came together is given together. Throws `ConnectError`.
 */
export async function* exchangeMessages<Method extends DescMethodBiDiStreaming>(
  { method, requests, signal }: Exchange<Method>,
  { baseUrl, httpClient, headers, most }: ExchangeDeps,
): AsyncGenerator<readonly MessageShape<Method['output']>[], void, undefined> {
  const stop = new AbortController();
  let body: AsyncIterable<Uint8Array> | undefined;
  try {
    const answer = await httpClient({
      url: createMethodUrl(baseUrl, method),
      method: 'POST',
      header: requestHeader(method.methodKind, true, undefined, headers, true),
      body: encoded(requests, method.input),
      signal: AbortSignal.any([signal, stop.signal]),
    });
    body = answer.body;
    validateResponse(method.methodKind, true, answer.status, answer.header);
    const reader = createEnvelopeReader(most);
    for await (const chunk of body) {
      const messages: MessageShape<Method['output']>[] = [];
      let end: Uint8Array | undefined;
      for (const { flags, data } of reader.take(chunk)) {
        if (end !== undefined || (flags !== 0 && flags !== endStreamFlag)) throw malformed();
        if (flags === endStreamFlag) end = data;
        else messages.push(decoded<Method['output']>(method.output, data));
      }
      if (messages.length > 0) yield messages;
      if (end === undefined) continue;
      const { error } = endStreamFromJson(end);
      if (error !== undefined) throw error;
      return;
    }
    throw new ConnectError('The stream broke off.', Code.Aborted);
  } catch (error) {
    stop.abort();
    throw error;
  } finally {
    if (body !== undefined) void readOut(body);
  }
}

/** To its end, for nobody: the library has no way to leave a body, and one that is not read out keeps its stream open. */
async function readOut(body: AsyncIterable<Uint8Array>): Promise<void> {
  const rest = body[Symbol.asyncIterator]();
  try {
    while ((await rest.next()).done !== true);
  } catch {
    // Hung up: that is an end, too.
  }
}

function decoded<Output extends DescMessage>(desc: Output, data: Uint8Array): MessageShape<Output> {
  try {
    return fromBinary(desc, data);
  } catch (cause) {
    throw malformed(cause);
  }
}

/** Not a generator: one that waits for its next item cannot be told to stop. */
function encoded<Input extends DescMessage>(
  messages: AsyncIterable<MessageInitShape<Input>>,
  desc: Input,
): AsyncIterable<Uint8Array> {
  return {
    [Symbol.asyncIterator]() {
      const source = messages[Symbol.asyncIterator]();
      const stop = async (): Promise<IteratorResult<Uint8Array>> => {
        await source.return?.();
        return { done: true, value: undefined };
      };
      return {
        async next() {
          const next = await source.next();
          if (next.done === true) return { done: true, value: undefined };
          return { done: false, value: envelope(toBinary(desc, create(desc, next.value))) };
        },
        return: stop,
        throw: stop,
      };
    },
  };
}

function malformed(cause?: unknown): ConnectError {
  return new ConnectError('The stream holds what is no message.', Code.DataLoss, undefined, undefined, cause);
}
