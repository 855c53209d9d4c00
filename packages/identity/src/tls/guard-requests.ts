import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Refused } from '../identity-error.ts';
import type { Peer } from './peer.ts';
import type { AdmitOptions, PeerGuard } from './peer-guard.ts';
import type { PeerSocket } from './read-peer.ts';

/**
 * On whatever is answered: nothing of ours is a page, and no browser shall make one of it. Not among them is the header that
 * forbids plain HTTP to a whole host: on `localhost` it would shut out what other programs serve there.
 */
const ANSWER_HEADERS: Readonly<Record<string, string>> = {
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
};

export type GuardedHandler = (request: IncomingMessage, response: ServerResponse, peer: Peer) => Promise<void> | void;

/** For `https` and for the compatible part of `http2`: each request is admitted by itself, by the registry of that moment. */
export function guardRequests(
  handler: GuardedHandler,
  { guard, options = {} }: { readonly guard: PeerGuard; readonly options?: AdmitOptions },
): (request: IncomingMessage, response: ServerResponse) => void {
  const handle = async (request: IncomingMessage, response: ServerResponse) => {
    const admission = await guard.admit(request.socket as unknown as PeerSocket, options);
    if (admission.kind === 'refused') return answerRefused(response, admission);
    await handler(request, response, admission.peer);
  };
  return withAnswerHeaders((request, response) => {
    handle(request, response).catch(() => {
      // The handler's fault: said without its words, which may hold what the peer must not see.
      if (!response.headersSent) response.writeHead(500);
      response.end();
    });
  });
}

/** For listeners that `guardRequests` is not for, such as those of tokens: whatever is answered there, errors included. */
export function withAnswerHeaders(
  handler: (request: IncomingMessage, response: ServerResponse) => void,
): (request: IncomingMessage, response: ServerResponse) => void {
  return (request, response) => {
    for (const [name, value] of Object.entries(ANSWER_HEADERS)) response.setHeader(name, value);
    handler(request, response);
  };
}

export function answerRefused(response: ServerResponse, { code, reason }: Refused): void {
  answerJson(response, code === 'throttled' ? 429 : 403, { error: { code: `identity.${code}`, message: reason } });
}

export function answerJson(response: ServerResponse, status: number, body: unknown): void {
  const headers = { ...ANSWER_HEADERS, 'content-type': 'application/json', 'cache-control': 'no-store' };
  response.writeHead(status, headers);
  response.end(`${JSON.stringify(body)}\n`);
}
