/** T-24: a bound credential reaches another host, survives a redirect, or shows in records, logs and answers. */
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import { connect as connectTls } from 'node:tls';
import { type EgressCall, parseHostRule } from '@palyra/egress';
import { Secret } from '@palyra/primitives';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { type CallAuthority, createCallAuthority } from '../../packages/egress/src/proxy/call-authority.ts';
import { type Origin, startHttpOrigin } from '../egress/origins.ts';
import {
  CALL,
  type OpenedCall,
  openCall,
  type ProxyPlace,
  readAll,
  startProxyPlace,
  tell,
} from '../egress/proxy-process.ts';

const SECRET = 'Bearer s3cr3t-of-the-bound-host';
let place: ProxyPlace;
let bound: Origin;
let other: Origin;
let seen: string[];
let leadsTo: string;

beforeAll(async () => {
  place = await startProxyPlace();
});
afterAll(() => place.close());

beforeEach(async () => {
  seen = [];
  bound = await startHttpOrigin((request, response) => {
    note('bound', request);
    if (request.url === '/away') response.writeHead(307, { location: leadsTo }).end();
    else response.end('ok');
  });
  other = await startHttpOrigin((request, response) => {
    note('other', request);
    if (request.url === '/back') response.writeHead(302, { location: `http://bound.test:${bound.port}/` }).end();
    else response.end('ok');
  });
  leadsTo = `http://other.test:${other.port}/`;
});

afterEach(async () => {
  const told =
    JSON.stringify([place.logger.lines]) + Buffer.concat([...place.wire.said, ...place.wire.errors]).toString('latin1');
  if (told.includes('s3cr3t')) throw new Error('A secret shows in what the proxy said, or in the log.');
  await bound.close();
  await other.close();
});

function note(who: string, { url, headers }: IncomingMessage): void {
  seen.push(`${who} ${url} ${headers.authorization ?? '-'} ${String(headers['x-api-key'] ?? '-')}`);
}

function binding(more: Partial<EgressCall> = {}): Partial<EgressCall> {
  return {
    rules: [parseHostRule(`bound.test:${bound.port}`), parseHostRule(`other.test:${other.port}`)],
    privateRanges: [`127.0.0.1:${bound.port}`, `127.0.0.1:${other.port}`],
    pinned: { 'bound.test': ['127.0.0.1'], 'other.test': ['127.0.0.1'], 'tls.test': ['127.0.0.1'] },
    credential: async ({ host }) =>
      host === 'other.test' ? undefined : { headers: { Authorization: new Secret(SECRET) } },
    ...more,
  };
}

const get = (host: string, more = ''): string => `GET http://${host}/ HTTP/1.1\r\nHost: ${host}\r\n${more}\r\n`;

test('the bound host gets it in place of what the tool made up, and no other host does', async () => {
  const call = await openCall(place, binding());
  await tell(call, get(`bound.test:${bound.port}`, 'authorization: Bearer mine\r\n'), get(`other.test:${other.port}`));
  // Over a tunnel the requests of plain HTTP can be read too.
  await tell(
    call,
    `CONNECT bound.test:${bound.port} HTTP/1.1\r\n\r\n`,
    `GET / HTTP/1.1\r\nHost: bound.test:${bound.port}\r\n\r\n`,
  );
  await tell(call, `CONNECT bound.test:${bound.port} HTTP/1.1\r\n\r\n`, 'GET / HTTP/1.1\r\nHost: evil.test\r\n\r\n');
  expect(seen).toEqual([`bound / ${SECRET} -`, 'other / - -', `bound / ${SECRET} -`]);
  expect(JSON.stringify(await call.close())).not.toContain('s3cr3t');
});

test('a credential that is not to be had, or cannot stand in a header, ends the request', async () => {
  const hooks: readonly NonNullable<EgressCall['credential']>[] = [
    async () => {
      throw new Error('sealed');
    },
    async () => ({ headers: { authorization: new Secret('s3cr3t\r\nHost: evil.test') } }),
    async () => ({ headers: { 'x y': new Secret('s3cr3t') } }),
  ];
  for (const credential of hooks) {
    const call = await openCall(place, binding({ credential }));
    const answer = await tell(call, get(`bound.test:${bound.port}`));
    expect(answer).toMatch(/^HTTP\/1\.1 403/);
    expect(answer).not.toContain('s3cr3t');
    await call.close();
  }
  expect(seen).toEqual([]);
});

test('a fetch that is led to another origin leaves everything behind that was given for the first', async () => {
  const call = { ...CALL, ...binding(), label: 'fetch-of-the-bound-host' } as EgressCall;
  const headers = { Cookie: 'a=s3cr3t', 'X-Api-Key': 's3cr3t', 'User-Agent': 'me' };
  const result = await place.egress.fetch(call, { url: `http://bound.test:${bound.port}/away`, headers });
  expect(result).toMatchObject({ kind: 'response', status: 200, hops: [{ status: 307 }] });
  leadsTo = `http://other.test:${other.port}/back`;
  await place.egress.fetch(call, { url: `http://bound.test:${bound.port}/away`, headers });
  leadsTo = '/again';
  await place.egress.fetch(call, { url: `http://bound.test:${bound.port}/away`, headers });
  expect(seen).toEqual([
    `bound /away ${SECRET} s3cr3t`,
    'other / - -',
    `bound /away ${SECRET} s3cr3t`,
    'other /back - -',
    // Bound to this host, so it is put on again; what the caller gave is gone.
    `bound / ${SECRET} -`,
    `bound /away ${SECRET} s3cr3t`,
    `bound /again ${SECRET} s3cr3t`,
  ]);
});

test('a request with a credential of its own shares it with no other of its call, and goes nowhere but where it was sent', async () => {
  const opened = await place.egress.openFetches({ ...CALL, ...binding(), label: 'requests-of-one-call' });
  const at = (path: string) => `http://bound.test:${bound.port}${path}`;
  const own = { credential: async () => ({ headers: { 'X-Api-Key': new Secret('s3cr3t-of-one') } }) };
  leadsTo = `http://other.test:${other.port}/`;
  const answers = await Promise.all([
    opened.fetch({ url: at('/own'), ...own }),
    opened.fetch({ url: at('/of-the-call') }),
    opened.fetch({ url: at('/away'), ...own, redirects: 'return' }),
    opened.fetch({ url: at('/none'), credential: async () => Promise.reject(new Error('sealed s3cr3t')) }),
  ]);
  expect(answers).toMatchObject([
    { status: 200 },
    { status: 200 },
    {
      kind: 'response',
      status: 307,
      hops: [],
      url: at('/away'),
      headers: expect.arrayContaining([['location', leadsTo]]),
    },
    { kind: 'denied', denial: { code: 'egress.denied' } },
  ]);
  expect(seen.toSorted()).toEqual([
    'bound /away - s3cr3t-of-one',
    `bound /of-the-call ${SECRET} -`,
    'bound /own - s3cr3t-of-one',
  ]);
  await opened.close();
});

test('TLS is ended for no suffix and no address: nobody bound all that to anything', async () => {
  for (const rule of ['*.bound.test', '127.0.0.1:443']) {
    await expect(openCall(place, binding({ terminate: [parseHostRule(rule)] }))).rejects.toMatchObject({
      code: 'egress.bad_call',
    });
  }
});

async function startTlsOrigin(house: CallAuthority): Promise<{ readonly port: number; close(): void }> {
  const server = createHttpsServer(
    { SNICallback: (name, done) => done(null, house.contextFor(name)) },
    (request, response) => {
      note('tls', request);
      // As many servers of this world do when they are asked to.
      response.end(request.method === 'TRACE' ? JSON.stringify(request.headers) : 'secure');
    },
  );
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as { port: number }).port,
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

/** What a tool that trusts `ca` gets from the host through the proxy: its first words, or why there is none. */
async function secureGet(
  call: OpenedCall,
  port: number,
  { ca, host }: { readonly ca: string; readonly host?: string },
): Promise<string> {
  const request = `GET / HTTP/1.1\r\nHost: ${host ?? `tls.test:${port}`}\r\nConnection: close\r\n\r\n`;
  return (await secureTell(call, port, { ca, request })).replace(/^(HTTP.{8}).*/s, '$1');
}

interface SecureWords {
  readonly ca: string;
  readonly request: string;
  readonly protocols?: string[];
}

async function secureTell(
  call: OpenedCall,
  port: number,
  { ca, request, protocols = ['h2', 'http/1.1'] }: SecureWords,
): Promise<string> {
  const raw = await call.dial();
  raw.write(`CONNECT tls.test:${port} HTTP/1.1\r\n\r\n`);
  await once(raw, 'data');
  const socket = connectTls({ socket: raw, servername: 'tls.test', ca, ALPNProtocols: protocols });
  try {
    await once(socket, 'secureConnect');
  } catch (error) {
    return (error as NodeJS.ErrnoException).code ?? String(error);
  }
  socket.write(request);
  const answer = await readAll(socket).catch(String);
  raw.destroy();
  return answer;
}

test('TLS is ended for the hosts that say so, by an authority of this call, and begun anew to a host that proves itself', async () => {
  const house = createCallAuthority([parseHostRule('tls.test')], Date.now());
  const { port, close } = await startTlsOrigin(house);
  const tls = { rules: [parseHostRule(`tls.test:${port}`)], privateRanges: [`127.0.0.1:${port}`] };
  const ended = await openCall(
    place,
    binding({ ...tls, terminate: [parseHostRule(`tls.test:${port}`)], authorities: [house.caPem] }),
  );
  const ca = ended.opened.caPem ?? '';
  expect(ca).toMatch(/^-----BEGIN CERTIFICATE-----\n/);
  expect(await secureGet(ended, port, { ca })).toBe('HTTP/1.1 200');
  expect(seen).toEqual([`tls / ${SECRET} -`]);
  // The Host inside is held to the host outside.
  expect(await secureGet(ended, port, { ca, host: 'evil.test' })).toBe('HTTP/1.1 400');
  // An authority of another call vouches for nothing here.
  expect(await secureGet(ended, port, { ca: house.caPem })).toMatch(/SIGNATURE|CERT|ISSUER/);
  expect(JSON.stringify(await ended.close())).not.toContain('s3cr3t');

  const stranger = await openCall(place, binding({ ...tls, terminate: [parseHostRule(`tls.test:${port}`)] }));
  expect(await secureGet(stranger, port, { ca: stranger.opened.caPem ?? '' })).toBe('HTTP/1.1 502');
  expect(await stranger.close()).toMatchObject([{ outcome: 'failed', denial: { code: 'egress.bad_certificate' } }]);

  const plain = await openCall(place, binding(tls));
  expect(plain.opened.caPem).toBeUndefined();
  expect(await secureGet(plain, port, { ca: house.caPem })).toBe('HTTP/1.1 200');
  expect(seen).toEqual([`tls / ${SECRET} -`, 'tls / - -']);
  await plain.close();
  close();
});

test('inside TLS that is ended a request has one meaning, one host, and nobody who says the credential back', async () => {
  const house = createCallAuthority([parseHostRule('tls.test')], Date.now());
  const { port, close } = await startTlsOrigin(house);
  const rules = [parseHostRule(`tls.test:${port}`), parseHostRule(`other.test:${other.port}`)];
  const call = await openCall(place, {
    ...binding({ rules, privateRanges: [`127.0.0.1:${port}`, `127.0.0.1:${other.port}`] }),
    terminate: [parseHostRule(`tls.test:${port}`)],
    authorities: [house.caPem],
  });
  const ca = call.opened.caPem ?? '';
  const host = `Host: tls.test:${port}\r\n`;
  const first = `GET /first HTTP/1.1\r\n${host}\r\n`;
  const tricks: readonly string[] = [
    // The next one on the same connection, for another host, in each form.
    `${first}GET / HTTP/1.1\r\nHost: other.test:${other.port}\r\n\r\n`,
    `${first}GET http://other.test:${other.port}/ HTTP/1.1\r\nHost: other.test:${other.port}\r\n\r\n`,
    `${first}CONNECT other.test:${other.port} HTTP/1.1\r\n\r\n`,
    // One that hides a second in its body.
    `POST /hidden HTTP/1.1\r\n${host}Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /two HTTP/1.1\r\n\r\n`,
    `POST /hidden HTTP/1.1\r\n${host}Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n`,
    // One whose credential is to be taken out again by whoever is next.
    `GET /hop HTTP/1.1\r\n${host}Connection: close, authorization\r\n\r\n`,
    'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
    `TRACE /back HTTP/1.1\r\n${host}Connection: close\r\n\r\n`,
    `trace /back HTTP/1.1\r\n${host}Connection: close\r\n\r\n`,
  ];
  for (const request of tricks) {
    seen = [];
    const answer = await secureTell(call, port, { ca, request });
    expect(answer).toMatch(/HTTP\/1\.1 (?:400|501) /);
    expect(answer).not.toContain('s3cr3t');
    expect(seen).toEqual(request.startsWith(first) ? [`tls /first ${SECRET} -`] : []);
  }
  // Over plain HTTP the same; and where nothing is bound, it is the host's own affair.
  seen = [];
  const trace = (name: string, at: number) => `TRACE http://${name}:${at}/ HTTP/1.1\r\nHost: ${name}:${at}\r\n\r\n`;
  const plain = await openCall(place, binding());
  expect(await tell(plain, trace('bound.test', bound.port))).toMatch(/^HTTP\/1\.1 501/);
  expect(await tell(plain, trace('other.test', other.port))).toMatch(/^HTTP\/1\.1 200/);
  expect(seen).toEqual(['other / - -']);
  // Who speaks HTTP/2 alone is not understood.
  expect(await secureTell(call, port, { ca, request: '', protocols: ['h2'] })).toMatch(/ALERT|ECONNRESET|CLOSED/i);
  await Promise.all([call.close(), plain.close()]);
  close();
});
