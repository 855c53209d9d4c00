// T-35, T-40: somebody else than palyrad answers the SDK, with whatever certificate can be had; or the files that say where
// palyrad is and who we are were open to others.
import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { once } from 'node:events';
import { chmodSync, mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createSecureServer } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { connect } from '@palyra/client';
import { createTemporaryHome } from '@palyra/testkit';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import {
  type CertificateDraft,
  makeAuthorityCertificate,
  makeCertificate,
} from '../../packages/identity/src/x509/make-certificates.ts';

const DAY = 86_400_000;
const LIFE = { notBefore: Date.now() - DAY, notAfter: Date.now() + DAY };

interface Authority {
  readonly certificate: string;
  readonly privateKey: KeyObject;
}

let home: Authority;
let other: Authority;
let device: { readonly cert: string; readonly key: string };
beforeAll(async () => {
  [home, other] = await Promise.all([makeAuthority('home'), makeAuthority('other')]);
  device = await issue(home, { purpose: 'client', names: [{ type: 'url', value: 'palyra://device/D' }] });
});

async function makeAuthority(commonName: string): Promise<Authority> {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  return { certificate: await makeAuthorityCertificate({ commonName, privateKey, ...LIFE }), privateKey };
}

type Wanted = Pick<CertificateDraft, 'purpose' | 'names'> & Partial<CertificateDraft>;

async function issue(authority: Authority, wanted: Wanted): Promise<{ cert: string; key: string }> {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const spki = publicKey.export({ type: 'spki', format: 'der' });
  const cert = await makeCertificate({ commonName: 'x', publicKey: spki, ...LIFE, ...wanted }, authority);
  return { cert, key: privateKey.export({ type: 'pkcs8', format: 'pem' }) as string };
}

/** Whoever it is; counts the requests that reach it. */
async function listen({ cert, key }: { readonly cert: string; readonly key: string }) {
  let requests = 0;
  const server = createSecureServer({ cert, key, minVersion: 'TLSv1.3' });
  server.on('stream', (stream) => {
    requests += 1;
    stream.respond({ ':status': 404 }, { endStream: true });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { address, requests: () => requests, [Symbol.dispose]: () => void server.close() };
}

const SERVER = { type: 'url', value: 'palyra://server' } as const;
const LOCALHOST = { type: 'dns', value: 'localhost' } as const;
const LOOPBACK = { type: 'ip', value: '127.0.0.1' } as const;

describe('an impostor', () => {
  const impostors: readonly [string, () => Promise<{ cert: string; key: string }>][] = [
    ['of another authority', () => issue(other, { purpose: 'server', names: [SERVER, LOOPBACK] })],
    ['with a certificate for clients', () => issue(home, { purpose: 'client', names: [SERVER, LOOPBACK] })],
    ['with the name of the place alone', () => issue(home, { purpose: 'server', names: [LOCALHOST, LOOPBACK] })],
    ['that is a device of the home', async () => device],
    [
      'whose certificate has expired',
      () =>
        issue(home, { purpose: 'server', names: [SERVER], notBefore: Date.now() - DAY, notAfter: Date.now() - 1000 }),
    ],
  ];
  test.each(impostors)('%s gets nothing', async (_name, make) => {
    using impostor = await listen(await make());
    const tls = { ca: home.certificate, ...device };
    await expect(connect({ address: impostor.address, tls })).rejects.toMatchObject({
      code: 'client.server_not_proven',
      fix: expect.any(String),
    });
    await expect(
      connect({ address: impostor.address, ca: home.certificate, token: 'palyra_at_secret' }),
    ).rejects.toMatchObject({ code: 'client.server_not_proven' });
    expect(impostor.requests()).toBe(0);
  });

  test('and palyrad itself is believed', async () => {
    using palyrad = await listen(await issue(home, { purpose: 'server', names: [SERVER] }));
    const client = await connect({ address: palyrad.address, tls: { ca: home.certificate, ...device } });
    await expect(client.tools.list()).rejects.toMatchObject({ code: 'client.not_supported' });
    client.close();
    expect(palyrad.requests()).toBe(1);
  });
});

describe('files of the home that others can reach', () => {
  let place: Awaited<ReturnType<typeof createTemporaryHome>>;
  let palyrad: Awaited<ReturnType<typeof listen>>;
  const credential = () => join(place.path, 'identity', 'local-agent');
  const addressFile = () => join(place.path, 'palyrad.json');
  beforeAll(async () => {
    place = await createTemporaryHome();
    palyrad = await listen(await issue(home, { purpose: 'server', names: [SERVER] }));
  });
  afterAll(async () => {
    palyrad[Symbol.dispose]();
    await place[Symbol.asyncDispose]();
  });
  beforeEach(() => {
    rmSync(join(place.path, 'identity'), { recursive: true, force: true });
    mkdirSync(credential(), { recursive: true, mode: 0o700 });
    const files = { 'device.crt': device.cert, 'device.key': device.key, 'authorities.crt': home.certificate };
    for (const [name, text] of Object.entries(files)) writeFileSync(join(credential(), name), text, { mode: 0o600 });
    rmSync(addressFile(), { force: true });
    writeFileSync(addressFile(), JSON.stringify({ pid: 1, address: palyrad.address }), { mode: 0o600 });
  });
  const unsafe = { code: 'client.credential_unsafe', fix: expect.any(String) };

  test('as they should be, they are used', async () => {
    await expect(connect({ home: place.path }).then((client) => client.close())).resolves.toBeUndefined();
  });

  test.each(['device.key', 'device.crt', 'authorities.crt'])('%s that others can read is not', async (name) => {
    chmodSync(join(credential(), name), 0o644);
    await expect(connect({ home: place.path })).rejects.toMatchObject(unsafe);
  });

  test('nor a directory that others can write, nor a key behind a link', async () => {
    chmodSync(credential(), 0o770);
    await expect(connect({ home: place.path })).rejects.toMatchObject(unsafe);
    chmodSync(credential(), 0o700);
    renameSync(join(credential(), 'device.key'), join(place.path, 'key'));
    symlinkSync(join(place.path, 'key'), join(credential(), 'device.key'));
    await expect(connect({ home: place.path })).rejects.toMatchObject(unsafe);
  });

  test('nor an address that others can write', async () => {
    chmodSync(addressFile(), 0o622);
    await expect(connect({ home: place.path })).rejects.toMatchObject(unsafe);
  });

  test('an agent does without the operator’s credential, also when it is all there is', async () => {
    renameSync(credential(), join(place.path, 'identity', 'operator'));
    await expect(connect({ home: place.path })).rejects.toMatchObject({ code: 'client.credential_missing' });
    (await connect({ home: place.path, as: 'operator' })).close();
  });
});
