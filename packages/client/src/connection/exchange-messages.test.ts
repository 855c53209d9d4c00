import { once } from 'node:events';
import { createServer, type ServerHttp2Stream } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { Code } from '@connectrpc/connect';
import { Http2SessionManager } from '@connectrpc/connect-node';
import { RunService } from '@palyra/api';
import { expect, test } from 'vitest';
import { createOutbox } from '../run/outbox.ts';
import { openExchange } from './open-channel.ts';

/** Somebody in palyrad's place, who answers with this and does not end. */
async function exchangeWith(status: number, body: readonly number[]) {
  const server = createServer().listen(0, '127.0.0.1');
  const answered = new Promise<ServerHttp2Stream>((resolve) => {
    server.on('stream', (stream) => {
      stream.on('error', () => undefined).resume();
      stream.respond({ ':status': status, 'content-type': 'application/connect+proto' });
      stream.write(Uint8Array.from(body));
      resolve(stream);
    });
  });
  await once(server, 'listening');
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const manager = new Http2SessionManager(baseUrl, { idleConnectionTimeoutMs: 1 });
  const outbox = createOutbox<{ message: { case: 'start'; value: object } }>();
  outbox.push({ message: { case: 'start', value: {} } });
  const { signal } = new AbortController();
  const exchange = openExchange({ baseUrl, manager });
  return {
    answered,
    outbox,
    messages: exchange({ method: RunService.method.runStream, requests: outbox.items, signal }),
    async [Symbol.asyncDispose]() {
      outbox.close();
      manager.abort();
      server.close();
    },
  };
}

test.each([
  ['flags that nobody has', 200, [4, 0, 0, 0, 0], Code.DataLoss],
  ['bytes that are no message', 200, [0, 0, 0, 0, 1, 0xff], Code.DataLoss],
  ['four gigabytes to come', 200, [0, 0xff, 0xff, 0xff, 0xff, 1], Code.ResourceExhausted],
  ['an end that is none', 200, [2, 0, 0, 0, 1, 0x7b], Code.Unknown],
  ['a status', 503, [1], Code.Unavailable],
])('whoever is answered with %s hangs up', async (_what, status, body, code) => {
  await using exchanged = await exchangeWith(status, body);
  await expect(exchanged.messages.next()).rejects.toMatchObject({ code });
  const stream = await exchanged.answered;
  if (!stream.closed) await once(stream, 'close');
});

test('whoever has heard enough leaves no stream open, and cuts none off', async () => {
  await using exchanged = await exchangeWith(200, [0, 0, 0, 0, 0]);
  for await (const messages of exchanged.messages) {
    expect(messages).toHaveLength(1);
    break;
  }
  exchanged.outbox.close();
  const stream = await exchanged.answered;
  stream.end(Uint8Array.from([2, 0, 0, 0, 2, 0x7b, 0x7d]));
  // A connection on which nothing is open any more is closed by the one who opened it.
  if (stream.session?.closed === false) await once(stream.session, 'close');
  expect(stream.rstCode).toBe(0);
});
