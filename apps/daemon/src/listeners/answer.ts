import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Http2ServerRequest, Http2ServerResponse } from 'node:http2';

export type AnyRequest = IncomingMessage | Http2ServerRequest;
export type AnyResponse = ServerResponse | Http2ServerResponse;

/** On whatever is answered that is no call of the API: no browser shall make a page of it. */
const HEADERS: Readonly<Record<string, string>> = {
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  'cache-control': 'no-store',
};

export interface Answer {
  readonly status: number;
  readonly text: string;
  readonly type?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

export function answer(
  response: AnyResponse,
  { status, text, type = 'text/plain; charset=utf-8', headers }: Answer,
): void {
  // HTTP/2 and HTTP/1.1 differ in their types here, and in nothing else.
  const plain = response as ServerResponse;
  plain.writeHead(status, { ...HEADERS, 'content-type': type, ...headers });
  plain.end(text);
}
