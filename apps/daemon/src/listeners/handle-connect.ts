import { Code, ConnectError, type ConnectRouter, type ContextValues } from '@connectrpc/connect';
import { universalRequestFromNodeRequest, universalResponseToNodeResponse } from '@connectrpc/connect-node';
import type { Logger } from '@palyra/primitives';
import { explainRefusal } from '../wire/explain-refusal.ts';
import { createMessageBody, isBinary, MESSAGE_BODY } from '../wire/message-body.ts';

type NodeRequest = Parameters<typeof universalRequestFromNodeRequest>[0];
type NodeResponse = Parameters<typeof universalResponseToNodeResponse>[1];

export interface ConnectHandlerDeps {
  readonly router: ConnectRouter;
  readonly logger: Pick<Logger, 'warn'>;
  contextValues(request: NodeRequest): ContextValues;
  /** How long the body of a request may take that is not a stream of messages. */
  readonly bodyMs: number;
  /** How many bytes a message has at most. */
  readonly messageBytes: number;
}

/**
 * Serves what is registered; false when the path is of nothing. The adapter of the library does the same, but what goes
 * wrong while it begins is thrown at the server, and what goes wrong later is printed.
 */
export function handleConnect(deps: ConnectHandlerDeps): (request: NodeRequest, response: NodeResponse) => boolean {
  const { router, logger, contextValues, bodyMs, messageBytes } = deps;
  const handlers = new Map(router.handlers.map((handler) => [handler.requestPath, handler]));
  return (request, response) => {
    const handler = handlers.get(pathOf(request));
    if (handler === undefined) return false;
    const { methodKind } = handler.method;
    if (methodKind === 'unary' || methodKind === 'server_streaming') endWhenLate(request, response, bodyMs);
    endWhenAnswered(request, response);
    const serve = async (): Promise<void> => {
      const values = contextValues(request);
      if (methodKind !== 'unary') offerBody(values, request, messageBytes);
      const asked = universalRequestFromNodeRequest(request, response, undefined, values);
      const answer = await handler(asked);
      await universalResponseToNodeResponse(methodKind === 'unary' ? await explainRefusal(answer) : answer, response);
    };
    serve().catch((error: unknown) => {
      if (!response.headersSent) response.writeHead(400);
      response.end();
      const { code } = ConnectError.from(error);
      if (code === Code.Aborted || code === Code.Canceled) return;
      logger.warn({ error, rpc: handler.method.name }, 'A call of the API could not be answered.');
    });
    return true;
  };
}

/** Whoever tells many messages may write them past the library. */
function offerBody(values: ContextValues, request: NodeRequest, messageBytes: number): void {
  if (!('stream' in request) || !isBinary(request.headers['content-type'])) return;
  values.set(MESSAGE_BODY, createMessageBody(request.stream, messageBytes));
}

/** SECURITY: T-39 — for requests that are no calls: a body that never ends, or goes on after the answer, is not waited for. */
export function boundBody(request: NodeRequest, response: NodeResponse, bodyMs: number): void {
  endWhenLate(request, response, bodyMs);
  endWhenAnswered(request, response);
}

/** Without what follows a question mark. */
export function pathOf({ url = '' }: { readonly url?: string | undefined }): string {
  return url.split('?', 1)[0] ?? '';
}

/** SECURITY: T-39 — a body that comes in drops, or never ends, is not waited for. */
function endWhenLate(request: NodeRequest, response: NodeResponse, bodyMs: number): void {
  const timer = setTimeout(() => hangUp(request), bodyMs);
  timer.unref();
  const over = () => clearTimeout(timer);
  request.once('end', over);
  response.once('close', over);
}

const FAREWELL_MS = 1_000;

/** SECURITY: T-39 — who has its answer and sends on all the same is not listened to: nobody reads that. */
function endWhenAnswered(request: NodeRequest, response: NodeResponse): void {
  // Of HTTP/2 the response says that it has finished when all is over, and the stream when it is answered.
  const [answered, incoming] = 'stream' in request ? [request.stream, request.stream] : [response, request];
  answered.once('finish', () => {
    if (incoming.readableEnded) return;
    const timer = setTimeout(() => hangUp(request), FAREWELL_MS);
    timer.unref();
    answered.once('close', () => clearTimeout(timer));
  });
}

/** On this request alone, where others share its connection. */
function hangUp(request: NodeRequest): void {
  if ('stream' in request) request.stream.destroy();
  else request.socket.destroy();
}
