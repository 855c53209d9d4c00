// T-34, T-06: somebody takes over a device that is known, or enters a key that is not theirs; pairing implies no rights.
import { sign } from 'node:crypto';
import { request } from 'node:https';
import {
  clientTlsOptions,
  createDeviceKey,
  createSigningRequest,
  type DeviceKey,
  issueDeviceCertificate,
  RENEWAL_PATH,
  renewDevice,
  type TlsIdentity,
} from '@palyra/identity';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { requestOnce } from './certificate-matrix.ts';
import { type IdentityHouse, identityHouse } from './identity-house.ts';
import { listenIn } from './identity-listener.ts';

let house: IdentityHouse;
beforeAll(async () => {
  house = await identityHouse();
});
afterAll(() => house[Symbol.asyncDispose]());

const terms = { by: 'user:ada', principalFor: ({ name }: { name: string }) => `agent:${name}` };

function post(port: number, identity: TlsIdentity, body: string): Promise<{ status: number; text: string }> {
  return new Promise((resolve, reject) => {
    const sent = request(
      { host: '127.0.0.1', port, path: RENEWAL_PATH, method: 'POST', agent: false, ...clientTlsOptions(identity) },
      (response) => {
        let text = '';
        response.setEncoding('utf8').on('data', (chunk: string) => {
          text += chunk;
        });
        response.once('end', () => resolve({ status: response.statusCode ?? 0, text }));
      },
    );
    sent.once('error', reject);
    sent.end(body);
  });
}

test('a renewal over the wire is for the key and the device of the connection, whatever the body says', async () => {
  await using listener = await listenIn(house);
  const mallory = await house.letIn('mallory', 'agent');
  const victim = await house.letIn('victim', 'operator', ['approver']);
  const own = Buffer.from(await createSigningRequest(mallory.key)).toString('base64');
  const others = Buffer.from(await createSigningRequest(createDeviceKey())).toString('base64');

  const answer = await post(
    listener.port,
    mallory.tls,
    JSON.stringify({ csr: own, device: victim.device, kind: 'operator' }),
  );
  expect(answer.status).toBe(200);
  const { certificate } = JSON.parse(answer.text) as { certificate: string };
  const identity = { ...mallory.tls, certificate };
  expect(await requestOnce(listener.port, { identity, authorities: '' })).toBe('served');
  expect((await house.registry.find(mallory.device))?.kind).toBe('agent');

  expect(await post(listener.port, mallory.tls, JSON.stringify({ csr: others }))).toMatchObject({
    status: 409,
    text: expect.stringContaining('identity.other_key'),
  });
  expect(await post(listener.port, mallory.tls, 'x'.repeat(100_000))).toMatchObject({ status: 400 });
  expect(await post(listener.port, mallory.tls, JSON.stringify({ csr: 'AAAA' }))).toMatchObject({ status: 409 });
});

test('a request that its key did not sign is refused', async () => {
  const der = await createSigningRequest(createDeviceKey());
  const changed = Uint8Array.from(der);
  changed[changed.length - 1] = (changed.at(-1) ?? 0) ^ 1;
  const issue = issueDeviceCertificate(house, terms);
  await expect(issue({ csrDer: changed, kind: 'agent', name: 'changed' })).rejects.toMatchObject({
    code: 'identity.invalid_request',
  });
  await expect(issue({ csrDer: der.slice(0, 40), kind: 'agent', name: 'cut' })).rejects.toMatchObject({
    code: 'identity.invalid_request',
  });
});

test('one key is one device: it enters once, and neither a revoked nor a replaced one comes back', async () => {
  const key = createDeviceKey();
  const csrDer = await createSigningRequest(key);
  const issue = issueDeviceCertificate(house, terms);
  const { device } = await issue({ csrDer, kind: 'agent', name: 'first' });
  await expect(issue({ csrDer, kind: 'agent', name: 'second' })).rejects.toMatchObject({ code: 'identity.key_known' });

  const next = createDeviceKey();
  const replace = issueDeviceCertificate(house, { ...terms, replaces: device as never });
  await replace({ csrDer: await createSigningRequest(next), kind: 'agent', name: 'first' });
  await expect(issue({ csrDer, kind: 'agent', name: 'third' })).rejects.toMatchObject({ code: 'identity.key_known' });
  await expect(renewDevice({ device: device as never, csrDer, by: 'user:ada' }, house)).rejects.toMatchObject({
    code: 'identity.other_key',
  });
  await expect(
    replace({ csrDer: await createSigningRequest(createDeviceKey()), kind: 'operator', name: 'first' }),
  ).rejects.toMatchObject({ code: 'identity.other_key' });

  await house.registry.revoke({ device: device as never, reason: 'compromised', by: 'user:ada' });
  const last = await createSigningRequest(next);
  await expect(issue({ csrDer: last, kind: 'agent', name: 'fourth' })).rejects.toMatchObject({
    code: 'identity.key_known',
  });
  await expect(renewDevice({ device: device as never, csrDer: last, by: 'user:ada' }, house)).rejects.toMatchObject({
    code: 'identity.device_revoked',
  });
  await expect(
    replace({ csrDer: await createSigningRequest(createDeviceKey()), kind: 'agent', name: 'first' }),
  ).rejects.toMatchObject({ code: 'identity.device_revoked' });
});

/** The same request by the same key, with its point written in the hybrid form of X9.62; signed anew. */
function inOtherClothes(csrDer: Uint8Array, { privateKey }: DeviceKey): Uint8Array {
  const wrap = (tag: number, content: Uint8Array): Buffer => {
    const { length } = content;
    const size = length < 0x80 ? [length] : [0x81, length];
    return Buffer.concat([Buffer.from([tag, ...size]), content]);
  };
  const lengthAt = (at: number): readonly [start: number, end: number] => {
    const first = csrDer[at + 1] ?? 0;
    const start = at + (first < 0x80 ? 2 : 2 + (first - 0x80));
    return [start, start + (first < 0x80 ? first : Number(csrDer[at + 2]))];
  };
  const [infoAt] = lengthAt(0);
  const [, infoEnd] = lengthAt(infoAt);
  const info = Buffer.from(csrDer.slice(infoAt, infoEnd));
  const point = info.indexOf(Buffer.from([0x03, 0x42, 0x00, 0x04])) + 3;
  info[point] = 0x06 + ((info[point + 64] ?? 0) & 1);
  const [, algorithmEnd] = lengthAt(infoEnd);
  const signature = Buffer.concat([Buffer.from([0]), sign('sha256', info, privateKey)]);
  return wrap(0x30, Buffer.concat([info, csrDer.slice(infoEnd, algorithmEnd), wrap(0x03, signature)]));
}

test('a key does not come back in another spelling', async () => {
  const key = createDeviceKey('p256');
  const csrDer = await createSigningRequest(key);
  const issue = issueDeviceCertificate(house, terms);
  const { device } = await issue({ csrDer, kind: 'agent', name: 'plain-point' });
  await house.registry.revoke({ device: device as never, reason: 'compromised', by: 'user:ada' });
  await expect(
    issue({ csrDer: inOtherClothes(csrDer, key), kind: 'agent', name: 'hybrid-point' }),
  ).rejects.toMatchObject({ code: 'identity.invalid_request' });
});

test('the certificate of a key that was replaced opens nothing, though it is still good', async () => {
  await using listener = await listenIn(house);
  const old = await house.letIn('replaced', 'agent');
  const replace = issueDeviceCertificate(house, { ...terms, replaces: old.device });
  const key = createDeviceKey();
  const { certificatePem, caPem } = await replace({
    csrDer: await createSigningRequest(key),
    kind: 'agent',
    name: 'replaced',
  });
  expect(await requestOnce(listener.port, { identity: old.tls, authorities: '' })).toBe('refused');
  const identity = { key: key.exportPrivate(), certificate: certificatePem, authorities: caPem };
  expect(await requestOnce(listener.port, { identity, authorities: '' })).toBe('served');
});

test('whoever is let in has no role, and a name that hides something is refused', async () => {
  const { device } = await issueDeviceCertificate(
    house,
    terms,
  )({ csrDer: await createSigningRequest(createDeviceKey()), kind: 'agent', name: 'plain' });
  expect(await house.registry.find(device as never)).toMatchObject({ roles: [], place: 'same_host' });
  for (const name of ['', ' ', 'a\u202Eb', 'a\u200Bb', 'a\nb', '\u001B[31m', 'x'.repeat(65)]) {
    const issue = issueDeviceCertificate(house, { ...terms, principalFor: () => 'agent:x' });
    const csrDer = await createSigningRequest(createDeviceKey());
    await expect(issue({ csrDer, kind: 'agent', name })).rejects.toMatchObject({ code: 'identity.invalid_name' });
  }
});
