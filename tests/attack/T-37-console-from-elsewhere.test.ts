// T-37, T-48: a page of elsewhere, or of another port of this host, uses the console of the operator: by a name that leads
// here, by a request of a browser, in a frame, with the cookie that every port is sent, with a link that was used.
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { type IncomingMessage, request } from 'node:http';
import { request as requestTls } from 'node:https';
import { join } from 'node:path';
import { clientTlsOptions, credentialDirectory, openCredential } from '@palyra/identity';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { declareLongLived } from '../../packages/testkit/src/process-mark.ts';
import { type PalyradProcess, startPalyrad } from '../palyrad-process.ts';

let palyrad: PalyradProcess;
let address: string;
beforeAll(async () => {
  palyrad = await startPalyrad({ config: '[daemon]\nconsole = "127.0.0.1:0"\n' });
  declareLongLived(palyrad.child.pid ?? 0);
  const file = readFileSync(join(palyrad.home.root, 'palyrad.json'), 'utf8');
  ({ console: address } = JSON.parse(file) as { console: string });
});
afterAll(() => palyrad[Symbol.asyncDispose]());

interface Asked {
  readonly method?: string;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

interface Answered {
  readonly status: number | undefined;
  readonly headers: IncomingMessage['headers'];
  readonly text: string;
}

async function answerOf(sent: ReturnType<typeof request>, body = ''): Promise<Answered> {
  sent.end(body);
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  let text = '';
  for await (const chunk of response) text += String(chunk);
  return { status: response.statusCode, headers: response.headers, text };
}

/** What a browser of the operator sends, which is what an attacker can make it send. */
function ask({ method = 'GET', path, headers = {}, body }: Asked): Promise<Answered> {
  const [host, port] = address.split(':');
  const sent = request({ host, port, method, path, agent: false, headers: { host: address, ...headers } });
  return answerOf(sent, body);
}

async function link(as: 'operator' | 'local-agent' = 'operator'): Promise<Answered> {
  const { tls } = openCredential(credentialDirectory(palyrad.home.identity, as));
  const { port } = palyrad;
  const place = { host: '127.0.0.1', port, path: '/console/v1/open', method: 'POST', agent: false };
  return answerOf(requestTls({ ...place, ...clientTlsOptions(tls) }));
}

async function code(): Promise<string> {
  const { text } = await link();
  return new URL((JSON.parse(text) as { url: string }).url).hash.slice(1);
}

const origin = () => ({ origin: `http://${address}` });

async function enter(): Promise<{ readonly cookie: string; readonly key: string }> {
  const body = JSON.stringify({ code: await code() });
  const { headers, text } = await ask({ method: 'POST', path: '/session', headers: origin(), body });
  const [cookie = ''] = headers['set-cookie'] ?? [];
  return { cookie: cookie.split(';')[0] ?? '', key: (JSON.parse(text) as { key: string }).key };
}

test('the page is served to this host by its names, and under no other', async () => {
  const { status, headers, text } = await ask({ path: '/' });
  expect(status).toBe(200);
  expect(text).toContain('not built yet');
  expect(headers).toMatchObject({
    'x-frame-options': 'DENY',
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'no-referrer',
    'cross-origin-opener-policy': 'same-origin',
    'content-security-policy': expect.stringMatching(/^default-src 'none'; .*frame-ancestors 'none'$/),
  });
  expect(headers['content-security-policy']).not.toContain('unsafe');
  const port = address.split(':')[1];
  for (const host of [
    'evil.example',
    `evil.example:${port}`,
    `127.0.0.1.evil.example:${port}`,
    '127.0.0.1',
    `127.0.0.1:1`,
  ]) {
    expect((await ask({ path: '/', headers: { host } })).status).toBe(403);
    expect((await ask({ path: '/healthz', headers: { host } })).status).toBe(403);
  }
});

test('no page of elsewhere makes a browser enter, read or leave', async () => {
  const { cookie, key } = await enter();
  const both = { cookie, 'x-palyra-key': key };
  expect((await ask({ path: '/session', headers: { ...both, ...origin() } })).status).toBe(200);
  const elsewhere = [
    'https://evil.example',
    'null',
    'http://127.0.0.1:1',
    `https://${address}`,
    `http://${address}.evil.example`,
  ];
  for (const other of elsewhere) {
    for (const method of ['GET', 'POST', 'DELETE']) {
      expect((await ask({ method, path: '/session', headers: { ...both, origin: other } })).status).toBe(403);
    }
  }
  expect((await ask({ method: 'POST', path: '/session', headers: both, body: '{}' })).status).toBe(403);
  const framed = { ...both, 'sec-fetch-site': 'cross-site' };
  expect((await ask({ path: '/session', headers: framed })).status).toBe(403);
  expect((await ask({ path: '/', headers: { 'sec-fetch-site': 'same-site' } })).status).toBe(403);
});

test('the cookie, which every port of this host is sent, is not enough, and neither is the key', async () => {
  const { cookie, key } = await enter();
  for (const headers of [{ cookie }, { 'x-palyra-key': key }, { cookie, 'x-palyra-key': 'A'.repeat(43) }]) {
    expect((await ask({ path: '/session', headers })).status).toBe(401);
  }
  expect(await ask({ path: '/session', headers: { cookie, 'x-palyra-key': key } })).toMatchObject({
    status: 200,
    text: expect.stringContaining('"principal":"user:ada"'),
  });
});

test('a link is good once, a session is new with each, and what a browser brought along is none', async () => {
  const used = JSON.stringify({ code: await code() });
  const post = (body: string, headers = {}) =>
    ask({ method: 'POST', path: '/session', headers: { ...origin(), ...headers }, body });
  const fixed = { cookie: 'palyra_1=fixed' };
  const first = await post(used, fixed);
  expect(first.status).toBe(200);
  const [cookie = ''] = first.headers['set-cookie'] ?? [];
  expect(cookie).toMatch(/; HttpOnly; SameSite=Strict; Path=\/$/);
  expect(cookie).not.toContain('fixed');
  expect((await post(used)).status).toBe(401);
  for (const body of ['', '{}', '{"code":1}', '{"code":""}', '['.repeat(3_000), `{"code":"${'a'.repeat(10_000)}"}`]) {
    expect((await post(body)).status).toBe(401);
  }
});

test('an agent invites no browser, and the session of a device ends with it', async () => {
  expect(await link('local-agent')).toMatchObject({
    status: 403,
    text: expect.stringContaining('daemon.not_permitted'),
  });
  const { cookie, key } = await enter();
  const look = async () => (await ask({ path: '/session', headers: { cookie, 'x-palyra-key': key } })).status;
  expect(await look()).toBe(200);
  await palyrad.revoke(openCredential(credentialDirectory(palyrad.home.identity, 'operator')));
  expect(await look()).toBe(401);
});
