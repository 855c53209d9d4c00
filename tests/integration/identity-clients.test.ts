import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client, credentials, type ServiceError, status } from '@grpc/grpc-js';
import {
  createDeviceKey,
  createSigningRequest,
  type GuardedHandler,
  issueDeviceCertificate,
  type KeyAlgorithm,
  type TlsIdentity,
} from '@palyra/identity';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type IdentityHouse, identityHouse } from '../attack/identity-house.ts';
import { type HouseListener, listenIn } from '../attack/identity-listener.ts';
import { http2Listener, type MatrixListener } from '../attack/matrix-listeners.ts';

// Programs that are not ours meet our listeners, with either kind of device key.

let house: IdentityHouse;
let https: HouseListener;
let grpc: MatrixListener;
beforeAll(async () => {
  house = await identityHouse();
  https = await listenIn(house);
  grpc = await http2Listener(house, { handler: answerCall });
});
afterAll(async () => {
  await grpc[Symbol.asyncDispose]();
  await https[Symbol.asyncDispose]();
  await house[Symbol.asyncDispose]();
});

/** A unary call, its frames by hand: one byte that says it is not compressed, four of length, the message. */
const answerCall: GuardedHandler = async (request, response, peer) => {
  const chunks: Buffer[] = [];
  for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
  const asked = Buffer.concat(chunks).subarray(5).toString();
  const message = Buffer.from(`${asked} ${peer.device}`);
  const frame = Buffer.alloc(5 + message.length);
  frame.writeUInt32BE(message.length, 1);
  message.copy(frame, 5);
  response.writeHead(200, { 'content-type': 'application/grpc+proto' });
  response.addTrailers({ 'grpc-status': '0' });
  response.end(frame);
};

async function enter(algorithm: KeyAlgorithm): Promise<{ readonly device: string; readonly tls: TlsIdentity }> {
  const key = createDeviceKey(algorithm);
  const issue = issueDeviceCertificate(house, { by: 'user:ada', principalFor: () => `agent:${algorithm}` });
  const csrDer = await createSigningRequest(key);
  const { certificatePem, caPem, device } = await issue({ csrDer, kind: 'agent', name: algorithm });
  return { device, tls: { key: key.exportPrivate(), certificate: certificatePem, authorities: caPem } };
}

function call({ key, certificate, authorities }: TlsIdentity, port: number): Promise<string> {
  const [ca, own, chain] = [authorities, key, certificate].map((pem) => Buffer.from(pem));
  const client = new Client(`localhost:${port}`, credentials.createSsl(ca, own, chain));
  const { promise, resolve } = Promise.withResolvers<string>();
  const told = (error: ServiceError | null, answer?: string) => {
    client.close();
    resolve(error === null ? String(answer) : (status[error.code] ?? 'unknown'));
  };
  const options = { deadline: Date.now() + 30_000 };
  client.makeUnaryRequest('/palyra.v1.Test/Who', Buffer.from, String, 'who', options, told);
  return promise;
}

test.each<KeyAlgorithm>(['ed25519', 'p256'])(
  'grpc-js calls us with a key of %s, until it is revoked',
  async (algorithm) => {
    const { device, tls } = await enter(algorithm);
    expect(await call(tls, grpc.port)).toBe(`who ${device}`);
    await using stranger = await identityHouse({ beside: house });
    const other = await stranger.letIn('stranger', 'agent');
    expect(await call({ ...tls, ...keyOf(other.tls) }, grpc.port)).toBe('UNAVAILABLE');
    expect(await call({ ...tls, authorities: other.tls.authorities }, grpc.port)).toBe('UNAVAILABLE');
    await house.registry.revoke({ device: device as never, reason: 'lost', by: 'user:ada' });
    expect(['PERMISSION_DENIED', 'UNAVAILABLE']).toContain(await call(tls, grpc.port));
  },
);

function keyOf({ key, certificate }: TlsIdentity): Pick<TlsIdentity, 'key' | 'certificate'> {
  return { key, certificate };
}

const lacks = (program: string, argument: string) => spawnSync(program, [argument]).status !== 0;

function filesOf(algorithm: string, { key, certificate, authorities }: TlsIdentity): readonly string[] {
  return Object.entries({ ca: authorities, crt: certificate, key }).map(([name, text]) => {
    const path = join(house.path, `${algorithm}.${name}`);
    writeFileSync(path, text, { mode: 0o600 });
    return path;
  });
}

async function run(program: string, args: readonly string[], input = ''): Promise<string> {
  const child = spawn(program, args, { stdio: ['pipe', 'pipe', 'ignore'] });
  child.stdin.on('error', () => undefined).write(input);
  let out = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    out += text;
  });
  await once(child, 'close');
  return out;
}

test.skipIf(lacks('curl', '--version')).each<KeyAlgorithm>(['ed25519', 'p256'])(
  'curl meets the daemon with a key of %s [needs: curl]',
  async (algorithm) => {
    const { device, tls } = await enter(algorithm);
    const [ca = '', crt = '', key = ''] = filesOf(algorithm, tls);
    const url = `https://localhost:${https.port}/`;
    const args = ['-sS', '--cacert', ca, '--cert', crt, '--key', key];
    expect(JSON.parse(await run('curl', [...args, url]))).toMatchObject({ device, kind: 'agent' });
    expect(await run('curl', [...args, '--tls-max', '1.2', url])).toBe('');
  },
);

test.skipIf(lacks('openssl', 'version')).each<KeyAlgorithm>(['ed25519', 'p256'])(
  'OpenSSL meets the daemon with a key of %s, and without one gets nowhere [needs: openssl]',
  async (algorithm) => {
    const { device, tls } = await enter(algorithm);
    const [ca = '', crt = '', key = ''] = filesOf(algorithm, tls);
    const to = ['s_client', '-quiet', '-connect', `127.0.0.1:${https.port}`, '-CAfile', ca, '-verify_return_error'];
    const asked = 'GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n';
    expect(await run('openssl', [...to, '-cert', crt, '-key', key], asked)).toContain(device);
    expect(await run('openssl', to, asked)).toBe('');
  },
);
