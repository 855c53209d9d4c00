import { createHash, generateKeyPairSync, X509Certificate } from 'node:crypto';
import { createIdSource } from '@palyra/primitives';
import { expect, test } from 'vitest';
import { createDeviceKey } from '../keys/device-key.ts';
import type { Device } from '../registry/device.ts';
import { deviceUris } from '../x509/certificate-names.ts';
import { makeAuthorityCertificate, makeCertificate } from '../x509/make-certificates.ts';
import { encodeAssertion, passkeyChallenge } from './verify-passkey.ts';
import { createSignatureVerifier } from './verify-signature.ts';

const key = createDeviceKey('p256');
const id = createIdSource().newId('device');
const relyingParty = { id: 'palyra.example', origins: ['https://palyra.example'] };
const message = new TextEncoder().encode('palyra/approval-statement/v1\n{}');

const times = { notBefore: Date.now() - 60_000, notAfter: Date.now() + 60_000 };
const { privateKey: authorityKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const authorityPem = await makeAuthorityCertificate({ commonName: 'authority', privateKey: authorityKey, ...times });
const authority = {
  id: 'a',
  state: 'current',
  certificate: new X509Certificate(authorityPem),
  createdAt: 0,
  trustedUntil: Infinity,
} as const;

async function certificateOf(kind: Device['kind'], more: Partial<typeof times> & { device?: Device['id'] } = {}) {
  const names = deviceUris({ device: more.device ?? id, kind }).map((value) => ({ type: 'url', value }) as const);
  return makeCertificate(
    { commonName: id, publicKey: key.publicKey, purpose: 'client', names, ...times, ...more },
    { certificate: authorityPem, privateKey: authorityKey },
  );
}

const device = {
  id,
  kind: 'operator',
  principal: 'user:ada',
  place: 'same_host',
  publicKey: key.publicKey,
  certificatePem: await certificateOf('operator'),
  revoked: null,
  notAfter: Infinity,
} as Device;

function verifierWith(edited: Partial<Device>) {
  return createSignatureVerifier({
    registry: { find: async (sought) => (sought === id ? { ...device, ...edited } : undefined) },
    authority: { trusted: () => [authority] },
    relyingParty,
  });
}

interface Asserted {
  readonly flags?: number;
  readonly rp?: string;
  readonly client?: object;
  readonly about?: Uint8Array;
}

/** What a browser's authenticator does. */
function assertion({ flags = 0x05, rp = relyingParty.id, client = {}, about = message }: Asserted = {}): Uint8Array {
  const hash = (bytes: Uint8Array | string) => createHash('sha256').update(bytes).digest();
  const authenticatorData = Buffer.concat([hash(rp), Buffer.from([flags, 0, 0, 0, 1])]);
  const data = { type: 'webauthn.get', challenge: passkeyChallenge(about), origin: relyingParty.origins[0], ...client };
  const clientDataJson = Buffer.from(JSON.stringify(data));
  return encodeAssertion({
    authenticatorData,
    clientDataJson,
    signature: key.sign(Buffer.concat([authenticatorData, hash(clientDataJson)])),
  });
}

const ask = (place: Device['place'], signature: Uint8Array) =>
  verifierWith({ place })({ credential: id, message, signature });

test('assurance follows from where the key is, and for a passkey from what it did for this signature', async () => {
  const plain = key.sign(message);
  expect(await ask('same_host', plain)).toMatchObject({ kind: 'human', assurance: 'same_host_key' });
  expect(await ask('separate_device', plain)).toMatchObject({ assurance: 'separate_device' });
  expect(await ask('passkey', assertion())).toMatchObject({ assurance: 'user_verified', person: 'user:ada' });
  expect(await ask('passkey', assertion({ flags: 0x01 }))).toMatchObject({ assurance: 'same_host_key' });
});

test('no device claims to be a passkey, and no passkey signs as a device does', async () => {
  expect(await ask('separate_device', assertion())).toBeUndefined();
  expect(await ask('same_host', assertion())).toBeUndefined();
  expect(await ask('passkey', key.sign(message))).toBeUndefined();
});

test.each([
  ['nobody present', assertion({ flags: 0x04 })],
  ['made for another site', assertion({ rp: 'evil.example' })],
  ['asked for by another page', assertion({ client: { origin: 'https://evil.example' } })],
  ['asked for by a frame in another page', assertion({ client: { crossOrigin: true } })],
  ['a registration', assertion({ client: { type: 'webauthn.create' } })],
  ['about another message', assertion({ about: new Uint8Array([1]) })],
  ['not JSON', new Uint8Array([0xff])],
  ['too long', new Uint8Array(20_000)],
])('an assertion with %s counts for nothing', async (_why, signature) => {
  expect(await ask('passkey', signature)).toBeUndefined();
});

test('one that was revoked signs nothing', async () => {
  const verify = verifierWith({ revoked: { at: 1, by: 'user:ada', reason: 'lost' } });
  expect(await verify({ credential: id, message, signature: key.sign(message) })).toBeUndefined();
});

test('a row counts for nothing beyond what the authority said of the device', async () => {
  const other = createDeviceKey();
  const past = Date.now() - 1_000;
  const edits: readonly (readonly [string, Partial<Device>, typeof other])[] = [
    ['another key', { publicKey: other.publicKey }, other],
    ['an agent called an operator', { certificatePem: await certificateOf('agent') }, key],
    [
      'the certificate of another device',
      { certificatePem: await certificateOf('operator', { device: createIdSource().newId('device') }) },
      key,
    ],
    ['a certificate that ran out', { certificatePem: await certificateOf('operator', { notAfter: past }) }, key],
    [
      'a certificate that begins later',
      { certificatePem: await certificateOf('operator', { notBefore: Date.now() + 30_000 }) },
      key,
    ],
    ['the authority in the place of a device', { certificatePem: authorityPem }, key],
    ['no certificate', { certificatePem: '' }, key],
  ];
  const counting: string[] = [];
  for (const [what, edited, signer] of edits) {
    const verify = verifierWith(edited);
    const passkey = verifierWith({ ...edited, place: 'passkey' });
    const plain = await verify({ credential: id, message, signature: signer.sign(message) });
    const asserted = await passkey({ credential: id, message, signature: assertion() });
    if (plain !== undefined || asserted !== undefined) counting.push(what);
  }
  expect(counting).toEqual([]);
});
