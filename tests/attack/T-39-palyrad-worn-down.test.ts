// T-39: palyrad is worn down: giant and deep messages, bytes that are no text, keys that every object has, headers without
// end, requests that never end, clients that take all places.
import { once } from 'node:events';
import { type ClientHttp2Session, type ClientHttp2Stream, connect } from 'node:http2';
import { connect as connectTls, type TLSSocket } from 'node:tls';
import { Code, ConnectError } from '@connectrpc/connect';
import { DeviceService, RunService, ToolService, WorkspaceService } from '@palyra/api';
import { clientTlsOptions, credentialDirectory, openCredential } from '@palyra/identity';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { declareLongLived } from '../../packages/testkit/src/process-mark.ts';
import { type PalyradProcess, startPalyrad } from '../palyrad-process.ts';

const CONFIG = `
[limits]
request_seconds = 1
streams_per_principal = 8
connections_per_address = 24
`;

let palyrad: PalyradProcess;
beforeAll(async () => {
  palyrad = await startPalyrad({ config: CONFIG });
  declareLongLived(palyrad.child.pid ?? 0);
});
afterAll(() => palyrad[Symbol.asyncDispose]());

/** Whatever was done to it, it is there for the next one. */
afterEach(async () => {
  const { tools } = await palyrad.client(ToolService, 'operator').listTools({});
  if (tools.length === 0) throw new Error('palyrad has lost its tools.');
});

function tlsOf(name: 'operator' | 'local-agent' = 'local-agent') {
  return clientTlsOptions(openCredential(credentialDirectory(palyrad.home.identity, name)).tls);
}

const open = new Set<ClientHttp2Session | TLSSocket>();
afterEach(() => {
  for (const each of open) each.destroy();
  open.clear();
});

async function session(): Promise<ClientHttp2Session> {
  const made = connect(`https://${palyrad.address}`, tlsOf());
  made.on('error', () => undefined);
  open.add(made);
  await once(made, 'connect');
  return made;
}

interface Sent {
  readonly path: string;
  readonly type: string;
  readonly body: Uint8Array;
  readonly headers?: Readonly<Record<string, string>>;
}

/** One request on a connection of its own, ended or not. */
async function send({ path, type, body, headers = {} }: Sent): Promise<{ status: number; text: string; grpc: string }> {
  const to = await session();
  const stream = to.request({ ':method': 'POST', ':path': path, 'content-type': type, te: 'trailers', ...headers });
  stream.on('error', () => undefined);
  let [status, grpc, text] = [0, '', ''];
  stream.on('response', (answer) => {
    status = Number(answer[':status']);
    grpc = String(answer['grpc-status'] ?? '');
  });
  stream.on('trailers', (trailers) => {
    grpc = String(trailers['grpc-status'] ?? grpc);
  });
  stream.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk;
  });
  stream.end(body);
  await once(stream, 'close');
  to.close();
  return { status, text, grpc };
}

function frame(message: Uint8Array): Uint8Array {
  const head = Buffer.alloc(5);
  head.writeUInt32BE(message.length, 1);
  return Buffer.concat([head, message]);
}

const ADD = '/palyra.v1.WorkspaceService/AddWorkspace';
const LIST = '/palyra.v1.ToolService/ListTools';

test('a message of a hundred megabytes is refused by its length, without being read', async () => {
  const body = new TextEncoder().encode('{}');
  const claimed = { 'content-length': String(100 * 1024 * 1024) };
  const to = await session();
  const stream = to.request({ ':method': 'POST', ':path': LIST, 'content-type': 'application/json', ...claimed });
  stream.on('error', () => undefined);
  const answered = once(stream, 'response');
  stream.write(body);
  const [answer] = (await answered) as [Record<string, unknown>];
  expect(answer[':status']).toBe(429);
  const head = Buffer.alloc(5);
  head.writeUInt32BE(100 * 1024 * 1024, 1);
  expect(await send({ path: LIST, type: 'application/grpc', body: head })).toMatchObject({
    grpc: String(Code.ResourceExhausted),
  });
});

test('a path that every object has is nobody’s, whatever the scheme', async () => {
  for (const path of ['constructor', 'hasOwnProperty', '__proto__']) {
    const to = await session();
    const stream = to.request({ ':method': 'POST', ':scheme': 'foo', ':path': path });
    stream.on('error', () => undefined);
    const [answer] = (await once(stream, 'response')) as [Record<string, unknown>];
    expect(answer[':status']).toBe(404);
    stream.close();
    to.close();
  }
});

test('one that is larger than it says, or than it may be, is cut off', async () => {
  const path = 'a'.repeat(5 * 1024 * 1024);
  const call = palyrad.client(WorkspaceService, 'operator').addWorkspace({ path: `/${path}` });
  await expect(call).rejects.toMatchObject({ code: Code.ResourceExhausted });
  const json = { path: ADD, type: 'application/json', body: new TextEncoder().encode(`{"path":"/${path}"}`) };
  expect((await send({ ...json, path: LIST })).status).toBe(429);
});

test('JSON that is nested a hundred thousand times is an answer, not an end', async () => {
  const deep = '['.repeat(100_000) + ']'.repeat(100_000);
  const body = (text: string) => new TextEncoder().encode(text);
  expect(await send({ path: LIST, type: 'application/json', body: body(deep) })).toMatchObject({ status: 400 });
  const unknown = await send({ path: LIST, type: 'application/json', body: body(`{"x":${deep}}`) });
  expect([200, 400]).toContain(unknown.status);
  const client = palyrad.client(RunService, 'local-agent');
  const refusal = async (inputJson: string) => {
    const call = client.callTool({ runId: 'R', proposal: { tool: 'palyra.echo', inputJson } });
    const error = await call.then(() => undefined).catch(ConnectError.from);
    return error?.message;
  };
  expect(await refusal(deep)).toContain('The field input_json is nested deeper than 64 levels.');
  for (const hostile of ['{"__proto__":{"polluted":true}}', '{"a":{"constr\\u0075ctor":1}}']) {
    expect(await refusal(hostile)).toContain('The field input_json has a key that every object has');
  }
});

test('bytes that are no text are no text here either', async () => {
  // Field 1, two bytes of which the second is missing its continuation.
  const invalid = Uint8Array.of(0x0a, 0x02, 0xc3, 0x28);
  const refused = await send({ path: ADD, type: 'application/grpc', body: frame(invalid) });
  expect(refused.grpc).not.toBe('0');
  const asJson = Buffer.concat([Buffer.from('{"includeHidden":"'), Uint8Array.of(0xff, 0xfe), Buffer.from('"}')]);
  expect((await send({ path: LIST, type: 'application/json', body: asJson })).status).toBe(400);
});

test('fields that nobody knows are nothing, and neither is a message that is all of them', async () => {
  const unknown = Buffer.concat(Array.from({ length: 10_000 }, () => Uint8Array.of(0xfa, 0x3f, 0x01, 0x41)));
  expect(await send({ path: LIST, type: 'application/grpc', body: frame(unknown) })).toMatchObject({ grpc: '0' });
  const groups = Buffer.alloc(200_000, 0x0b);
  expect((await send({ path: LIST, type: 'application/grpc', body: frame(groups) })).status).toBe(200);
});

test('headers have an end', async () => {
  const many = Object.fromEntries(Array.from({ length: 400 }, (_, at) => [`x-${at}`, 'a'.repeat(200)]));
  const answered = await send({ path: LIST, type: 'application/json', body: Buffer.from('{}'), headers: many }).catch(
    () => undefined,
  );
  expect(answered?.status ?? 0).not.toBe(200);
});

/** Whatever is said on the way. */
function closeOf(socket: TLSSocket | ClientHttp2Stream): Promise<unknown> {
  return new Promise((resolve) => void socket.once('close', resolve));
}

async function raw(alpn: string): Promise<TLSSocket> {
  const socket = connectTls({ host: '127.0.0.1', port: palyrad.port, ...tlsOf(), ALPNProtocols: [alpn] });
  socket.on('error', () => undefined);
  open.add(socket);
  await once(socket, 'secureConnect');
  return socket;
}

test.each([
  'POST /palyra.v1.ToolService/ListTools HTTP/1.1\r\nHost: [\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}',
  'POST /palyra.v1.ToolService/ListTools HTTP/1.0\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}',
  'POST //[::: HTTP/1.1\r\nHost: a b\r\nContent-Length: 0\r\n\r\n',
  'GET http://[/palyra.v1.ToolService/ListTools HTTP/1.1\r\nHost: x\r\n\r\n',
  '\0\0\0\0\0\0',
  'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
])('a request that is none ends its connection, not palyrad (%#)', async (text) => {
  const socket = await raw('http/1.1');
  const closed = closeOf(socket);
  socket.resume();
  socket.end(text);
  await closed;
  expect(palyrad.child.exitCode).toBeNull();
});

test('a request without an authority is refused', async () => {
  const to = await session();
  const stream = to.request({
    ':method': 'POST',
    ':path': LIST,
    ':authority': '[',
    'content-type': 'application/json',
  });
  stream.on('error', () => undefined);
  stream.end('{}');
  const [answer] = (await once(stream, 'response')) as [Record<string, unknown>];
  expect(answer[':status']).toBe(400);
});

test('a request that comes in drops, or never ends, is not waited for', async () => {
  const dripping = await raw('http/1.1');
  dripping.resume();
  dripping.write('POST /palyra.v1.ToolService/ListTools HTTP/1.1\r\nHost: x\r\nX-A: ');
  const halfway = await raw('http/1.1');
  halfway.resume();
  halfway.write(`POST ${LIST} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{`);
  const to = await session();
  const waiting = to.request({ ':method': 'POST', ':path': LIST, 'content-type': 'application/json' });
  waiting.on('error', () => undefined);
  waiting.write('{');
  await Promise.all([dripping, halfway, waiting].map(closeOf));
  expect(palyrad.child.exitCode).toBeNull();
});

test('one principal that opens streams without end leaves room for the others', async () => {
  const eve = await palyrad.letIn('eve', 'operator', ['admin']);
  const client = palyrad.client(DeviceService, eve);
  const leaving = new AbortController();
  const { signal } = leaving;
  const streams = Array.from({ length: 12 }, () => client.pairDevice({ kind: 'agent', name: 'x' }, { signal }));
  const first = await Promise.allSettled(streams.map((each) => each[Symbol.asyncIterator]().next()));
  const refused = first.flatMap((each) => (each.status === 'rejected' ? [Object(each.reason).code as Code] : []));
  expect(refused).toEqual([1, 2, 3, 4].map(() => Code.ResourceExhausted));
  await expect(client.whoAmI({})).rejects.toMatchObject({ code: Code.ResourceExhausted });
  expect(await palyrad.client(DeviceService, 'local-agent').whoAmI({})).toMatchObject({ principal: 'agent:local' });
  leaving.abort();
  const isServed = () =>
    client.whoAmI({}).then(
      () => true,
      () => false,
    );
  await expect.poll(isServed, { timeout: 20_000 }).toBe(true);
});

test('connections of one address have an end, and a place that is free is free', async () => {
  const sockets: TLSSocket[] = [];
  const ended: Promise<unknown>[] = [];
  for (let each = 0; each < 32; each += 1) {
    const socket = connectTls({ host: '127.0.0.1', port: palyrad.port, ...tlsOf(), ALPNProtocols: ['h2'] });
    socket.on('error', () => undefined);
    sockets.push(socket);
    open.add(socket);
    const settled = Promise.race([once(socket, 'close'), once(socket, 'secureConnect')]);
    ended.push(settled.then(() => socket.destroyed).catch(() => true));
  }
  const results = await Promise.all(ended);
  expect(results.filter(Boolean).length).toBeGreaterThanOrEqual(8);
  for (const socket of sockets) socket.destroy();
  await expect
    .poll(() =>
      palyrad
        .client(ToolService, 'operator')
        .listTools({})
        .then(({ tools }) => tools.length)
        .catch(() => 0),
    )
    .toBeGreaterThan(0);
});
