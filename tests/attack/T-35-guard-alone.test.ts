// T-35: what OpenSSL keeps away from a listener is refused by the guard as well, for where somebody set TLS up carelessly.
import { generateKeyPairSync, type KeyObject, X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { connect } from 'node:tls';
import { type Credential, clientTlsOptions, createPeerGuard, type PeerGuard } from '@palyra/identity';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { makeCertificate } from '../../packages/identity/src/x509/make-certificates.ts';
import { type IdentityHouse, identityHouse } from './identity-house.ts';
import { listenIn } from './identity-listener.ts';

const DAY_MS = 86_400_000;

let house: IdentityHouse;
let guard: PeerGuard;
let eve: Credential;
beforeAll(async () => {
  house = await identityHouse();
  guard = await createPeerGuard(house);
  eve = await house.letIn('eve', 'agent', ['agent']);
});
afterAll(async () => {
  guard.close();
  await house[Symbol.asyncDispose]();
});

interface Altered {
  readonly purpose?: 'client' | 'server';
  readonly names?: readonly string[];
  readonly notBefore?: number;
  readonly notAfter?: number;
  /** Who really signs, though the certificate names the authority. */
  readonly signer?: KeyObject;
}

async function certificate(altered: Altered = {}): Promise<string> {
  const { signer = house.stolenKey(), names = namesOf(eve.device, 'agent'), purpose = 'client' } = altered;
  const { notBefore = Date.now() - 60_000, notAfter = Date.now() + DAY_MS } = altered;
  const [current] = house.authority.trusted();
  const subjectNames = names.map((value) => ({ type: 'url', value }) as const);
  const draft = { commonName: 'x', publicKey: eve.key.publicKey, purpose, names: subjectNames, notBefore, notAfter };
  return makeCertificate(draft, { certificate: String(current?.certificate), privateKey: signer });
}

function namesOf(device: string, kind: string): readonly string[] {
  return [`palyra://device/${device}`, `palyra://kind/${kind}`];
}

interface Shown {
  readonly authorized?: boolean;
  readonly isReused?: boolean;
}

async function answerTo(pem: string | undefined, { authorized = true, isReused = false }: Shown = {}): Promise<string> {
  const admission = await guard.admit({
    authorized,
    isSessionReused: () => isReused,
    getPeerX509Certificate: () => (pem === undefined ? undefined : new X509Certificate(pem)),
  });
  return admission.kind === 'refused' ? admission.code : admission.peer.principal;
}

test('each certificate that does not count is refused for its own reason', async () => {
  const { device } = eve;
  const unknown = house.registry.context.ids.newId('device');
  expect({
    valid: await answerTo(await certificate()),
    none: await answerTo(undefined),
    notAuthorized: await answerTo(await certificate(), { authorized: false }),
    resumed: await answerTo(await certificate(), { isReused: true }),
    signedByAnother: await answerTo(await certificate({ signer: freshP256() })),
    forServers: await answerTo(await certificate({ purpose: 'server' })),
    theAuthority: await answerTo(String(house.authority.trusted()[0]?.certificate)),
    expired: await answerTo(await certificate({ notAfter: Date.now() - 2_000 })),
    early: await answerTo(await certificate({ notBefore: Date.now() + 60_000 })),
    noName: await answerTo(await certificate({ names: [] })),
    twoDevices: await answerTo(
      await certificate({ names: [...namesOf(device, 'agent'), `palyra://device/${unknown}`] }),
    ),
    namesSwapped: await answerTo(await certificate({ names: namesOf(device, 'agent').toReversed() })),
    quoted: await answerTo(await certificate({ names: [`palyra://device/${device}, URI:palyra://kind/agent`] })),
    lowerCase: await answerTo(await certificate({ names: namesOf(device.toLowerCase(), 'agent') })),
    noSuchKind: await answerTo(await certificate({ names: namesOf(device, 'admin') })),
    unknown: await answerTo(await certificate({ names: namesOf(unknown, 'agent') })),
    otherKind: await answerTo(await certificate({ names: namesOf(device, 'operator') })),
  }).toEqual({
    valid: 'agent:eve',
    none: 'no_certificate',
    notAuthorized: 'unknown_authority',
    resumed: 'resumed_session',
    signedByAnother: 'unknown_authority',
    forServers: 'wrong_purpose',
    theAuthority: 'wrong_purpose',
    expired: 'expired',
    early: 'not_yet_valid',
    noName: 'malformed_certificate',
    twoDevices: 'malformed_certificate',
    namesSwapped: 'malformed_certificate',
    quoted: 'malformed_certificate',
    lowerCase: 'malformed_certificate',
    noSuchKind: 'malformed_certificate',
    unknown: 'unknown_device',
    otherKind: 'wrong_kind',
  });
});

test('a listener speaks TLS 1.3 and nothing older', async () => {
  await using listener = await listenIn(house);
  const { key, cert, ca } = clientTlsOptions(eve.tls);
  const socket = connect({
    host: '127.0.0.1',
    port: listener.port,
    key,
    cert,
    ca,
    maxVersion: 'TLSv1.2',
    checkServerIdentity: () => undefined,
  });
  await expect(once(socket, 'secureConnect')).rejects.toMatchObject({
    code: 'ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION',
  });
});

function freshP256(): KeyObject {
  return generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey;
}
