/** T-23: a name that is allowed leads to an address that is not; addresses of loopback stand for all that a tool must not reach. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo, Server } from 'node:net';
import { type EgressCall, type FetchResult, parseHostRule } from '@palyra/egress';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { CALL, openCall, type ProxyPlace, startProxyPlace, tell } from '../egress/proxy-process.ts';

const NAMES = new URL('../egress/scripted-names-program.ts', import.meta.url).pathname;
let place: ProxyPlace;
/** 127.0.0.1, which the tests open; and the same port of 127.0.0.2, which nobody did. */
let open: Server;
let inner: Server;
let port: number;
let reached: string[];
let leadsTo: string;

beforeAll(async () => {
  place = await startProxyPlace(NAMES);
});
afterAll(() => place.close());

beforeEach(async () => {
  reached = [];
  leadsTo = '/';
  open = createServer((request, response) => {
    reached.push(`open ${request.url}`);
    if (request.url === '/away') response.writeHead(302, { location: leadsTo }).end();
    else response.end('open');
  });
  inner = createServer((request, response) => {
    reached.push(`inner ${request.url}`);
    response.end('the crown jewels');
  });
  open.listen(0, '127.0.0.1');
  await once(open, 'listening');
  ({ port } = open.address() as AddressInfo);
  inner.listen(port, '127.0.0.2');
  await once(inner, 'listening');
});

afterEach(async () => {
  for (const server of [open, inner]) {
    server.close();
    (server as import('node:http').Server).closeAllConnections();
    await once(server, 'close');
  }
});

const ANY = ['good', 'inner', 'rebind', 'mixed', 'mapped', 'six', 'nothing', 'nonsense'];

function rules(): Pick<EgressCall, 'rules' | 'privateRanges'> {
  const hosts = [
    ...ANY.map((name) => `${name}.test:${port}`),
    `127.0.0.2:${port}`,
    `127.0.0.1:${port}`,
    `[::1]:${port}`,
  ];
  return { rules: hosts.map(parseHostRule), privateRanges: [`127.0.0.1:${port}`] };
}

async function get(host: string, more: Partial<EgressCall> = {}): Promise<string> {
  const call = await openCall(place, { ...rules(), ...more });
  const answer = await tell(
    call,
    `GET http://${host}:${port}/ HTTP/1.1\r\nHost: ${host}:${port}\r\nConnection: close\r\n\r\n`,
  );
  const [attempt] = await call.close();
  return `${answer.slice(9, 12)} ${attempt?.outcome} ${attempt?.denial?.code ?? ''} ${attempt?.address ?? ''}`;
}

test.each([
  ['inner.test', 'one that leads to an address inside'],
  ['mixed.test', 'one that leads to a good address and a bad one'],
  ['mapped.test', 'one that leads to a mapped address'],
  ['six.test', 'one that leads to loopback of IPv6'],
  ['nonsense.test', 'one that leads to another name'],
  ['127.0.0.2', 'the address itself'],
  ['[::1]', 'the address itself in IPv6'],
])('%s is refused although a rule names it: %s', async (host) => {
  expect(await get(host)).toBe('403 denied egress.address_not_allowed ');
  expect(reached).toEqual([]);
});

test('without restriction the same addresses are refused', async () => {
  expect(await get('inner.test', { mode: 'none', rules: [] })).toBe('403 denied egress.address_not_allowed ');
  expect(await get('127.0.0.2', { mode: 'none', rules: [] })).toBe('403 denied egress.address_not_allowed ');
  expect(await get('good.test', { mode: 'none', rules: [] })).toBe('200 allowed  127.0.0.1');
  expect(reached).toEqual(['open /']);
});

test('a pinned name is checked like any other', async () => {
  expect(await get('good.test', { pinned: { 'good.test': ['127.0.0.2'] } })).toBe(
    '403 denied egress.address_not_allowed ',
  );
  expect(reached).toEqual([]);
});

test('a name that changes its mind after the check is asked once, and what was checked is connected to', async () => {
  expect(await get('rebind.test')).toBe('200 allowed  127.0.0.1');
  expect(
    Buffer.concat(place.wire.errors)
      .toString()
      .match(/resolve rebind\.test/g),
  ).toHaveLength(1);
  expect(await get('rebind.test')).toBe('403 denied egress.address_not_allowed ');
  expect(reached).toEqual(['open /']);
});

test('a name without addresses is not reached', async () => {
  expect(await get('nothing.test')).toBe('502 failed egress.not_resolved ');
});

async function fetchFrom(path: string, more: Partial<EgressCall> = {}): Promise<FetchResult> {
  const label = `fetch-${Math.random().toString(16).slice(2)}-fetching`;
  return place.egress.fetch({ ...CALL, ...rules(), ...more, label }, { url: `http://good.test:${port}${path}` });
}

test('a redirect is a request like any other: decided, resolved and checked', async () => {
  leadsTo = '/there';
  expect(await fetchFrom('/away')).toMatchObject({ kind: 'response', status: 200, hops: [{ status: 302 }] });
  for (const location of [
    `http://127.0.0.2:${port}/`,
    `http://inner.test:${port}/`,
    `//0177.0.0.2:${port}/`,
    `http://2130706434:${port}/`,
  ]) {
    leadsTo = location;
    expect(await fetchFrom('/away')).toMatchObject({ kind: 'denied', denial: { code: 'egress.address_not_allowed' } });
  }
  for (const location of [`http://other.test:${port}/`, 'http://good.test:1/', `https://unlisted.test:${port}/`]) {
    leadsTo = location;
    expect(await fetchFrom('/away')).toMatchObject({
      kind: 'denied',
      denial: { code: expect.stringMatching(/(?:host|port)_not_allowed/) },
    });
  }
  for (const location of [
    'file:///etc/passwd',
    'gopher://good.test/',
    'data:text/plain,x',
    `http://user:pw@good.test:${port}/`,
  ]) {
    leadsTo = location;
    expect(await fetchFrom('/away')).toMatchObject({ kind: 'denied' });
  }
  leadsTo = '/away';
  expect(await fetchFrom('/away')).toMatchObject({ kind: 'failed', denial: { code: 'egress.too_many_redirects' } });
  expect(reached.filter((one) => one.startsWith('inner'))).toEqual([]);
});
