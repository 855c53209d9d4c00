/** T-17, T-25: answers to palyrad's own fetch that are too large, too slow, of another kind, or larger inside than outside. */
import { brotliCompressSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { type EgressCall, type FetchRequest, type FetchResult, parseHostRule } from '@palyra/egress';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Origin, startHttpOrigin } from '../egress/origins.ts';
import { CALL, type ProxyPlace, startProxyPlace } from '../egress/proxy-process.ts';

const MEBIBYTE = 2 ** 20;
let place: ProxyPlace;
let origin: Origin;
let number = 0;

beforeAll(async () => {
  place = await startProxyPlace();
  origin = await startHttpOrigin((request, response) => {
    const bomb = Buffer.alloc(8 * MEBIBYTE);
    if (request.url === '/endless') {
      const pour = (): void => {
        while (response.write(Buffer.alloc(65_536)));
        response.once('drain', pour);
      };
      pour();
    } else if (request.url === '/large') response.end(Buffer.alloc(2 * MEBIBYTE));
    else if (request.url === '/gzip') response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync(bomb));
    else if (request.url === '/br') response.writeHead(200, { 'content-encoding': 'br' }).end(brotliCompressSync(bomb));
    else if (request.url === '/zstd')
      response.writeHead(200, { 'content-encoding': 'zstd' }).end(zstdCompressSync(bomb));
    else if (request.url === '/twice')
      response.writeHead(200, { 'content-encoding': 'gzip, gzip' }).end(gzipSync(gzipSync(bomb)));
    else if (request.url === '/headers')
      response.writeHead(200, Object.fromEntries(Array.from({ length: 200 }, (_, i) => [`x-${i}`, 'y']))).end();
    else if (request.url === '/header') response.writeHead(200, { 'x-long': 'y'.repeat(90_000) }).end();
    else if (request.url === '/html')
      response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' }).end('<p>');
    else if (request.url === '/json')
      response
        .writeHead(200, { 'content-type': 'application/json', 'content-encoding': 'gzip' })
        .end(gzipSync('{"a":1}'));
    else if (request.url === '/silent') request.resume();
    else request.pipe(response);
  });
});

afterAll(async () => {
  await place.close();
  await origin.close();
});

function fetch(path: string, more: Omit<FetchRequest, 'url'> = {}): Promise<FetchResult> {
  return place.egress.fetch(callOf(), requestOf(path, more));
}

function callOf(limits: Partial<EgressCall['limits']> = {}): EgressCall {
  number += 1;
  return {
    ...CALL,
    limits: { ...CALL.limits, ...limits },
    label: `fetch-number-${String(number).padStart(8, '0')}`,
    rules: [parseHostRule(`a.test:${origin.port}`)],
    privateRanges: [`127.0.0.1:${origin.port}`],
    pinned: { 'a.test': ['127.0.0.1'] },
  };
}

function requestOf(path: string, more: Omit<FetchRequest, 'url'> = {}): FetchRequest {
  return { limits: { bodyBytes: MEBIBYTE }, ...more, url: `http://a.test:${origin.port}${path}` };
}

test('requests of one call use up together what it may: bytes in both directions, and connections at one time', async () => {
  const some = requestOf('/echo', { method: 'POST', body: Buffer.alloc(400_000) });
  for (const limits of [{ bytesIn: 1_000_000 }, { bytesOut: 1_000_000 }]) {
    const call = await place.egress.openFetches(callOf(limits));
    const ends = [await call.fetch(some), await call.fetch(some), await call.fetch(some)];
    expect(ends).toMatchObject([
      { kind: 'response' },
      { kind: 'response' },
      { kind: 'failed', denial: { code: 'egress.too_many_bytes' } },
    ]);
    await call.close();
  }
  const call = await place.egress.openFetches(callOf({ connections: 2 }));
  const stop = new AbortController();
  const open = ['/silent', '/silent'].map((path) => call.fetch(requestOf(path, { signal: stop.signal })));
  expect(await call.fetch(requestOf('/json'))).toMatchObject({
    kind: 'denied',
    denial: { code: 'egress.too_many_connections' },
  });
  stop.abort();
  await Promise.all(open);
  expect(await call.fetch(requestOf('/json'))).toMatchObject({ kind: 'response' });
  await call.close();
});

test.each([
  ['/large', 'egress.response_too_large'],
  ['/endless', 'egress.response_too_large'],
  ['/gzip', 'egress.response_too_large'],
  ['/br', 'egress.response_too_large'],
  ['/zstd', 'egress.response_too_large'],
  ['/twice', 'egress.bad_response'],
  ['/headers', 'egress.bad_response'],
  ['/header', 'egress.bad_response'],
])('%s is stopped with %s', async (path, code) => {
  expect(await fetch(path)).toMatchObject({ kind: 'failed', denial: { code, host: 'a.test' } });
});

test('an answer of another kind is not read, and one that never comes is not waited for', async () => {
  expect(await fetch('/html', { contentTypes: ['application/json'] })).toMatchObject({
    kind: 'failed',
    denial: { code: 'egress.content_type_not_allowed' },
  });
  expect(await fetch('/html', { contentTypes: ['text/*'] })).toMatchObject({ kind: 'response', status: 200 });
  expect(await fetch('/silent', { limits: { totalMs: 100 } })).toMatchObject({
    kind: 'failed',
    denial: { code: 'egress.too_slow' },
  });
  expect(await fetch('/silent', { signal: AbortSignal.timeout(50) })).toMatchObject({
    kind: 'failed',
    denial: { code: 'egress.cancelled' },
  });
});

test('an honest answer comes whole, and as it was meant', async () => {
  const json = await fetch('/json', { contentTypes: ['application/json'] });
  expect(json).toMatchObject({ kind: 'response', status: 200, url: `http://a.test:${origin.port}/json`, hops: [] });
  expect(json.kind === 'response' && Buffer.from(json.body).toString()).toBe('{"a":1}');
  const body = Buffer.alloc(700_000, 'z');
  const echo = await fetch('/echo', { method: 'POST', body });
  expect(echo.kind === 'response' && Buffer.compare(echo.body, body)).toBe(0);
});

test.each([
  ['a line end in a header', { headers: { 'x-a': 'b\r\nHost: evil.test' } }],
  ['a line end in a name', { headers: { 'x-a: b\r\nx-c': 'd' } }],
  ['CONNECT', { method: 'CONNECT' }],
  ['a method with a blank', { method: 'GET /x HTTP/1.1\r\nX:' }],
])('%s is refused before anything is sent', async (_what, more) => {
  await expect(fetch('/echo', more)).rejects.toMatchObject({ code: 'egress.bad_call' });
});
