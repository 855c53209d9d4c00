/** T-21: a host in a spelling that one reader takes for another host. Preflight and proxy read it as one, or not at all. */
import { checkPreflight, parseHostRule } from '@palyra/egress';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { answerPlainly, type Origin, startOrigin } from '../egress/origins.ts';
import { type OpenedCall, openCall, type ProxyPlace, startProxyPlace, tell } from '../egress/proxy-process.ts';

let place: ProxyPlace;
let origin: Origin;
let call: OpenedCall;

beforeAll(async () => {
  place = await startProxyPlace();
});
afterAll(() => place.close());

beforeEach(async () => {
  origin = await startOrigin(answerPlainly);
  call = await openCall(place, {
    rules: [parseHostRule(`good.test:${origin.port}`), parseHostRule(`*.wide.test:${origin.port}`)],
    privateRanges: [`127.0.0.1:${origin.port}`],
    pinned: Object.fromEntries(
      ['good.test', 'wide.test', 'a.wide.test', 'notwide.test'].map((name) => [name, ['127.0.0.1']]),
    ),
  });
});

afterEach(async () => {
  await call.close();
  await origin.close();
});

const get = (host: string): string => `GET http://${host}/ HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`;

/** All of these are 127.0.0.1, where the origin is and which no rule names. */
const DISGUISES = [
  '127.0.0.1',
  '2130706433',
  '017700000001',
  '0x7f000001',
  '0x7f.1',
  '0177.0.0.1',
  '127.1',
  '127.0.0.1.',
  '[::ffff:127.0.0.1]',
  '[::ffff:7f00:1]',
];

test('an address in disguise is that address, and no rule for names covers it', async () => {
  for (const disguise of DISGUISES) {
    const host = `${disguise}:${origin.port}`;
    expect([disguise, (await tell(call, get(host))).slice(0, 12)]).toEqual([disguise, 'HTTP/1.1 403']);
    expect([disguise, (await tell(call, `CONNECT ${host} HTTP/1.1\r\n\r\n`)).slice(0, 12)]).toEqual([
      disguise,
      'HTTP/1.1 403',
    ]);
  }
  const attempts = await call.close();
  expect(new Set(attempts.map(({ host }) => host))).toEqual(new Set(['127.0.0.1']));
  expect(origin.heard).toEqual([]);
});

test('a name in another spelling is that name, and a name that only looks alike is not', async () => {
  for (const name of ['good.test', 'GOOD.Test', 'good.test.']) {
    expect([name, (await tell(call, get(`${name}:${origin.port}`))).slice(0, 12)]).toEqual([name, 'HTTP/1.1 200']);
  }
  expect(await tell(call, get(`a.wide.test:${origin.port}`))).toMatch(/^HTTP\/1\.1 200/);
  for (const name of [
    'wide.test',
    'notwide.test',
    'good.test.evil.test',
    'g\u00f6od.test',
    'xn--good-zna.test',
    'good.tes',
  ]) {
    const written = Buffer.from(name, 'utf8').toString('latin1');
    expect([name, (await tell(call, get(`${written}:${origin.port}`))).slice(0, 10)]).toEqual([name, 'HTTP/1.1 4']);
  }
});

test.each([
  'good%2etest',
  'good.test%00.evil.test',
  'good.test%',
  '[fe80::1%25lo]',
  'good.test\\@evil.test',
  'good..test',
  '-x.test',
  ':',
  '[',
  '[]',
  '..',
  'xn--a',
])('%s is no host for anybody', async (host) => {
  expect(await tell(call, `CONNECT ${host}:${origin.port} HTTP/1.1\r\n\r\n`)).toMatch(/^HTTP\/1\.1 400/);
  expect(await tell(call, get(`${host}:${origin.port}`))).toMatch(/^HTTP\/1\.1 400/);
  expect((await call.close()).map(({ denial }) => denial?.code)).toEqual([
    'egress.malformed_host',
    'egress.malformed_host',
  ]);
  expect(origin.heard).toEqual([]);
});

test('preflight sees through the same disguises in a command line', () => {
  const rules = [parseHostRule('good.test:80,443')];
  const denied = (...argv: readonly string[]): readonly string[] =>
    checkPreflight({ argv, declared: [], rules }).map(({ host }) => host);
  for (const disguise of DISGUISES)
    expect([disguise, denied('curl', `http://${disguise}/`)]).toEqual([disguise, ['127.0.0.1']]);
  expect(denied('curl', 'http://GOOD.test./')).toEqual([]);
  expect(denied('curl', 'evil.test')).toEqual(['evil.test']);
  expect(denied('scp', 'x', 'me@evil.test:/y')).toEqual(['evil.test']);
  expect(denied('curl', '--resolve', 'good.test:443:127.0.0.1', 'https://good.test/')).toEqual(['127.0.0.1']);
  expect(denied('curl', '-x', 'evil.test:3128', 'https://good.test/')).toEqual(['evil.test']);
  expect(denied('env', 'HTTPS_PROXY=evil.test:3128', 'curl', 'https://good.test/')).toEqual(['evil.test']);
  expect(denied('curl', 'https://good.test@evil.test/')).toEqual(['evil.test']);
  expect(denied('bash', '-lc', 'curl https://good.test/ && curl evil.test')).toEqual(['evil.test']);
  expect(denied('curl', 'http://good%2etest/')).toEqual(['http://good%2etest/']);
});
