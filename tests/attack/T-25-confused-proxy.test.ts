/** T-25: requests that two readers read differently, and heads that never end. */
import { once } from 'node:events';
import { DEFAULT_EGRESS_LIMITS, parseHostRule } from '@palyra/egress';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { answerPlainly, type Origin, startHttpOrigin, startOrigin } from '../egress/origins.ts';
import { type OpenedCall, openCall, type ProxyPlace, readAll, startProxyPlace, tell } from '../egress/proxy-process.ts';

let place: ProxyPlace;
let origin: Origin;
let call: OpenedCall;

beforeAll(async () => {
  place = await startProxyPlace();
});
afterAll(() => place.close());

beforeEach(async () => {
  origin = await startOrigin(answerPlainly);
  call = await open();
});

afterEach(async () => {
  await call.close();
  await origin.close();
});

function open(more: Parameters<typeof openCall>[1] = {}, to: Origin = origin): Promise<OpenedCall> {
  return openCall(place, {
    rules: [parseHostRule(`a.test:${to.port}`)],
    privateRanges: [`127.0.0.1:${to.port}`],
    pinned: { 'a.test': ['127.0.0.1'], 'b.test': ['127.0.0.1'] },
    ...more,
  });
}

const heard = (): string => Buffer.concat(origin.heard).toString('latin1');
const post = (...lines: readonly string[]): string =>
  `${[`POST http://a.test:${origin.port}/x HTTP/1.1`, `Host: a.test:${origin.port}`, ...lines].join('\r\n')}\r\n\r\n`;
const SMUGGLED = 'GET /admin HTTP/1.1\r\nHost: b.test\r\n\r\n';

test.each([
  ['length and chunks', () => `${post('Content-Length: 5', 'Transfer-Encoding: chunked')}0\r\n\r\n${SMUGGLED}`],
  ['two lengths', () => `${post('Content-Length: 0', `Content-Length: ${SMUGGLED.length}`)}${SMUGGLED}`],
  ['an unknown coding', () => `${post('Transfer-Encoding: chunked, identity')}0\r\n\r\n${SMUGGLED}`],
  ['a blank before the colon', () => `${post('Transfer-Encoding : chunked')}0\r\n\r\n${SMUGGLED}`],
  ['a folded line', () => post('X-A: b', ' c: d')],
  ['a bare LF', () => post('X-A: b\nTransfer-Encoding: chunked')],
  ['a bare CR', () => post('X-A: b\rTransfer-Encoding: chunked')],
  ['a NUL', () => post('X-A: b\0c')],
  ['another Host', () => `GET http://a.test:${origin.port}/ HTTP/1.1\r\nHost: b.test\r\n\r\n`],
  ['two Hosts', () => post('Host: b.test')],
  ['no Host', () => `GET http://a.test:${origin.port}/ HTTP/1.1\r\n\r\n`],
  ['a user in front of the host', () => `GET http://a.test:${origin.port}@b.test/ HTTP/1.1\r\nHost: b.test\r\n\r\n`],
  ['a path where a URL belongs', () => `GET /x HTTP/1.1\r\nHost: a.test:${origin.port}\r\n\r\n`],
  ['a host that is taken out by Connection', () => post('Connection: host')],
  ['too many headers', () => post(...Array.from({ length: 300 }, (_, index) => `X-${index}: y`))],
  ['a head that is too large', () => post(`X-A: ${'a'.repeat(100_000)}`)],
  ['HTTP/2', () => 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
  [
    'a line end in the target',
    () => `GET http://a.test:${origin.port}/\nX: y HTTP/1.1\r\nHost: a.test:${origin.port}\r\n\r\n`,
  ],
  ['CONNECT with another Host', () => `CONNECT a.test:${origin.port} HTTP/1.1\r\nHost: b.test\r\n\r\n`],
])('a request with %s is refused before a byte of it goes on, and recorded', async (_what, bytes) => {
  expect(await tell(call, bytes())).toMatch(/^HTTP\/1\.1 400 Bad Request\r\n/);
  expect(heard()).toBe('');
  expect(await call.close()).toMatchObject([
    { outcome: 'denied', denial: { code: expect.stringMatching(/malformed|mismatch/) } },
  ]);
});

test('what goes on was written by us: no hop-by-hop header, one Host, one length, chunks made anew', async () => {
  const bytes = `${post('Transfer-Encoding: chunked', 'Connection: close, X-Hop', 'X-Hop: 1', 'Proxy-Authorization: Basic x', 'Upgrade: h2c', 'TE: trailers', 'X-Kept: yes')}005;x="\\"\r\nhello\r\n0\r\nContent-Length: 9\r\n\r\n`;
  expect(await tell(call, bytes)).toMatch(/^HTTP\/1\.1 200/);
  expect(heard()).toBe(
    `POST /x HTTP/1.1\r\nHost: a.test:${origin.port}\r\nX-Kept: yes\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n`,
  );
});

test('a broken body ends the connection to the host; what follows it is nobody’s request', async () => {
  expect(await tell(call, `${post('Transfer-Encoding: chunked')}5\nhello\r\n0\r\n\r\n${SMUGGLED}`)).toMatch(
    /^(?:HTTP\/1\.1 400|$)/,
  );
  expect(heard()).not.toContain('/admin');
});

test('a head that trickles in is ended by the clock, whatever comes in between', async () => {
  const slow = await open({ limits: { ...DEFAULT_EGRESS_LIMITS, headMs: 150 } });
  const trickle = async (bytes: string | Buffer): Promise<string> => {
    const socket = await slow.dial();
    socket.on('error', () => {});
    const answer = readAll(socket);
    const feed = setInterval(() => socket.write(bytes), 20);
    const said = await answer;
    clearInterval(feed);
    socket.destroy();
    return said;
  };
  expect(await trickle('G')).toContain('"code":"egress.too_slow"');
  expect(['', '\x05\xff']).toContain(await trickle(Buffer.from([5])));
  await slow.close();
});

test('an answer that can be read in two ways does not reach the tool', async () => {
  const answers = [
    'HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
    'HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab',
    'HTTP/1.1 200 OK\nContent-Length: 1\n\na',
    'HTTP/1.1 101 Switching Protocols\r\n\r\nraw',
    'SSH-2.0-OpenSSH\r\n\r\n',
  ];
  for (const answer of answers) {
    const liar = await startOrigin((socket) => socket.once('data', () => socket.end(answer, 'latin1')));
    const lied = await open({}, liar);
    const got = await tell(lied, `GET http://a.test:${liar.port}/ HTTP/1.1\r\nHost: a.test:${liar.port}\r\n\r\n`);
    expect([answer, got.slice(0, 12)]).toEqual([answer, 'HTTP/1.1 502']);
    await lied.close();
    await liar.close();
  }
});

test('honest traffic passes: interim answers, big bodies both ways, HEAD, no body, 1.0, closing hosts', async () => {
  const honest = await startHttpOrigin((request, response) => {
    if (request.url === '/none') response.writeHead(204).end();
    else if (request.url === '/close') response.writeHead(200, { connection: 'close' }).end('bye');
    else request.pipe(response);
  });
  const fair = await open({}, honest);
  const host = `a.test:${honest.port}`;
  const socket = await fair.dial();
  const whole = readAll(socket);
  const big = Buffer.alloc(3_000_000, 'x');
  socket.write(
    `POST http://${host}/ HTTP/1.1\r\nHost: ${host}\r\nExpect: 100-continue\r\nContent-Length: ${big.length}\r\n\r\n`,
  );
  await once(socket, 'data').catch(() => {});
  socket.write(big);
  socket.write(`HEAD http://${host}/ HTTP/1.1\r\nHost: ${host}\r\n\r\n`);
  socket.write(`GET http://${host}/none HTTP/1.1\r\nHost: ${host}\r\n\r\n`);
  socket.write(`GET http://${host}/close HTTP/1.1\r\nHost: ${host}\r\n\r\n`);
  const answer = await whole;
  expect(answer.match(/HTTP\/1\.1 \d+/g)).toEqual([
    'HTTP/1.1 100',
    'HTTP/1.1 200',
    'HTTP/1.1 200',
    'HTTP/1.1 204',
    'HTTP/1.1 200',
  ]);
  expect(answer.length).toBeGreaterThan(big.length);
  const old = await tell(fair, `POST http://${host}/ HTTP/1.0\r\nContent-Length: 3\r\n\r\nold`);
  expect(old).toMatch(/connection: close\r\n\r\nold$/);
  socket.destroy();
  await fair.close();
  await honest.close();
});

test('an upgrade to WebSocket goes through when the host agrees, and to nothing else', async () => {
  const chatty = await startOrigin((socket) => {
    socket.once('data', (bytes: Buffer) => {
      const isAsked = /\r\nUpgrade: websocket\r\n/.test(bytes.toString('latin1'));
      socket.write(
        isAsked
          ? 'HTTP/1.1 101 Switching\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n'
          : 'HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n',
      );
      socket.on('data', (more: Buffer) => socket.write(more));
    });
    socket.on('end', () => socket.end());
  });
  const talk = await open({}, chatty);
  const ask = (upgrade: string): string =>
    `GET http://a.test:${chatty.port}/ HTTP/1.1\r\nHost: a.test:${chatty.port}\r\nConnection: Upgrade\r\nUpgrade: ${upgrade}\r\n\r\n`;
  const socket = await talk.dial();
  const answer = readAll(socket);
  socket.write(ask('websocket'));
  socket.write('frames');
  socket.end();
  expect(await answer).toMatch(/^HTTP\/1\.1 101 Switching\r\n.*\r\n\r\nframes$/s);
  expect(await tell(talk, ask('h2c'))).toMatch(/^HTTP\/1\.1 200/);
  expect(Buffer.concat(chatty.heard.slice(1)).toString()).not.toMatch(/upgrade/i);
  await talk.close();
  await chatty.close();
});
