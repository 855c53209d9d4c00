import { type KeyObject, sign, X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { request } from 'node:https';
import { connect, type TLSSocket } from 'node:tls';
import { anonymousTlsOptions, clientTlsOptions, type DeviceKind, type TlsIdentity } from '@palyra/identity';
import { createIdSource } from '@palyra/primitives';
import { statement } from '@palyra/storage';
import {
  type CertificateDraft,
  makeAuthorityCertificate,
  makeCertificate,
} from '../../packages/identity/src/x509/make-certificates.ts';
import { freshKey, type IdentityHouse } from './identity-house.ts';

/** Whom the listeners of a matrix serve, and a kind that they do not. */
export interface MatrixKinds {
  readonly serves: DeviceKind;
  readonly servesNot: DeviceKind;
}

export type Attempted = 'served' | 'refused';

/** Every certificate that must not be served, by its name; the last is one that must, or the listener serves nobody. */
export type CertificateCases = readonly (readonly [name: string, identity: TlsIdentity | undefined])[];

export interface MatrixRow {
  readonly certificate: string;
  readonly outcome: Attempted;
}

/** Made once for all listeners of a house: making them takes longer than trying them. */
export async function certificateCases(house: IdentityHouse, kinds: MatrixKinds): Promise<CertificateCases> {
  const cases: [string, TlsIdentity | undefined][] = [];
  for (const [name, make] of Object.entries(makersOf(house, kinds))) cases.push([name, await make()]);
  return cases;
}

/** What a listener does with each of them. */
export async function certificateMatrix(
  cases: CertificateCases,
  attempt: (identity: TlsIdentity | undefined) => Promise<Attempted>,
): Promise<readonly MatrixRow[]> {
  const rows: MatrixRow[] = [];
  for (const [certificate, identity] of cases) rows.push({ certificate, outcome: await attempt(identity) });
  return rows;
}

/** All refused but the valid one; that too where certificates open nothing. */
export function expectedMatrix(
  cases: CertificateCases,
  { serves = [VALID] }: { readonly serves?: readonly string[] } = {},
): readonly MatrixRow[] {
  return cases.map(([certificate]) => ({ certificate, outcome: serves.includes(certificate) ? 'served' : 'refused' }));
}

const VALID = 'a valid certificate';
const DAY_MS = 86_400_000;

type Makers = Readonly<Record<string, () => Promise<TlsIdentity | undefined>>>;

function makersOf(house: IdentityHouse, { serves, servesNot }: MatrixKinds): Makers {
  const ids = createIdSource();
  const known = () => house.letIn(`matrix-${ids.newId('device').slice(-8)}`, serves);
  const named = (device: string, kind: string) => [`palyra://device/${device}`, `palyra://kind/${kind}`];
  return {
    none: async () => undefined,
    'self-signed': async () => {
      const { device } = await known();
      return selfSigned(house, named(device, serves));
    },
    'of another authority with the same name': async () => {
      const { device, key } = await known();
      return ofAnotherAuthority(house, {
        names: named(device, serves),
        publicKey: key.publicKey,
        key: key.exportPrivate(),
      });
    },
    expired: async () => signedFor(house, await known(), { notBefore: -2 * DAY_MS, notAfter: -1_000 }),
    'not yet valid': async () => signedFor(house, await known(), { notBefore: DAY_MS, notAfter: 2 * DAY_MS }),
    'for servers': async () => signedFor(house, await known(), { purpose: 'server' }),
    'without names': async () => signedFor(house, await known(), { names: [] }),
    'with two devices': async () => {
      const { device, ...rest } = await known();
      const names = [`palyra://device/${ids.newId('device')}`, ...named(device, serves)];
      return signedFor(house, { device, ...rest }, { names });
    },
    'with a device id in lower case': async () => {
      const credential = await known();
      return signedFor(house, credential, { names: named(credential.device.toLowerCase(), serves) });
    },
    'of a kind that does not exist': async () => {
      const credential = await known();
      return signedFor(house, credential, { names: named(credential.device, 'root') });
    },
    'with names that are no DER': async () => malformed(house, await signedFor(house, await known(), {})),
    'of a device that nobody let in': async () => {
      const { spki, pem } = freshKey();
      return signed(house, { names: named(ids.newId('device'), serves), publicKey: spki, key: pem });
    },
    'of a known device with another key': async () => {
      const { device } = await known();
      const { spki, pem } = freshKey();
      return signed(house, { names: named(device, serves), publicKey: spki, key: pem });
    },
    'of a kind that is not served here': async () =>
      (await house.letIn(`matrix-${ids.newId('device').slice(-8)}`, servesNot)).tls,
    'of another kind than the registry has': async () => {
      const credential = await house.letIn(`matrix-${ids.newId('device').slice(-8)}`, servesNot);
      return signedFor(house, credential, { names: named(credential.device, serves) });
    },
    'of a device whose row was edited to another kind': async () => {
      const credential = await house.letIn(`matrix-${ids.newId('device').slice(-8)}`, servesNot);
      const { write } = house.database;
      // With a principal that fits, or the row could not even be read.
      const principal = `${serves === 'operator' ? 'user' : serves === 'agent' ? 'agent' : 'service'}:edited`;
      const values = { kind: serves, principal };
      const edit = write.updateTable('identity_devices').set(values).where('id', '=', credential.device);
      await house.database.commit({ steps: [statement(edit, { rows: 1 })] });
      return credential.tls;
    },
    revoked: async () => {
      const credential = await known();
      await house.registry.revoke({ device: credential.device, reason: 'lost', by: 'user:ada' });
      return credential.tls;
    },
    'signed by a device': async () => {
      const { device, key, tls } = await known();
      const { spki, pem } = freshKey();
      const issuer = { certificate: tls.certificate, privateKey: key.privateKey };
      const leaf = await makeCertificate(draft({ names: named(device, serves), publicKey: spki }), issuer);
      return { key: pem, certificate: `${leaf}${tls.certificate}`, authorities: house.authority.bundle() };
    },
    [VALID]: async () => (await known()).tls,
  };
}

type Overrides = Partial<Pick<CertificateDraft, 'purpose' | 'notBefore' | 'notAfter'>> & {
  readonly names?: readonly string[];
};

interface Leaf extends Overrides {
  readonly names: readonly string[];
  readonly publicKey: Uint8Array;
}

function draft({
  names,
  publicKey,
  purpose = 'client',
  notBefore = -60_000,
  notAfter = DAY_MS,
}: Leaf): CertificateDraft {
  const now = Date.now();
  return {
    commonName: 'matrix',
    publicKey,
    purpose,
    names: names.map((value) => ({ type: 'url', value })),
    notBefore: now + notBefore,
    notAfter: now + notAfter,
  };
}

/** As the authority itself would sign it, were it careless. */
async function signed(house: IdentityHouse, leaf: Leaf & { readonly key: string }): Promise<TlsIdentity> {
  const [current] = house.authority.trusted();
  const issuer = { certificate: String(current?.certificate), privateKey: house.stolenKey() };
  const certificate = await makeCertificate(draft(leaf), issuer);
  return { key: leaf.key, certificate, authorities: house.authority.bundle() };
}

type Known = Awaited<ReturnType<IdentityHouse['letIn']>>;

function signedFor(
  house: IdentityHouse,
  { device, kind, key }: Pick<Known, 'device' | 'kind' | 'key'>,
  overrides: Overrides,
): Promise<TlsIdentity> {
  const names = [`palyra://device/${device}`, `palyra://kind/${kind}`];
  return signed(house, { names, publicKey: key.publicKey, key: key.exportPrivate(), ...overrides });
}

async function selfSigned(house: IdentityHouse, names: readonly string[]): Promise<TlsIdentity> {
  const { privateKey, spki, pem } = freshKey();
  const times = { notBefore: Date.now() - 60_000, notAfter: Date.now() + DAY_MS };
  const own = await makeAuthorityCertificate({ commonName: 'matrix', privateKey, ...times });
  const certificate = await makeCertificate(draft({ names, publicKey: spki }), { certificate: own, privateKey });
  return { key: pem, certificate, authorities: house.authority.bundle() };
}

async function ofAnotherAuthority(house: IdentityHouse, leaf: Leaf & { readonly key: string }): Promise<TlsIdentity> {
  const { privateKey } = freshKey();
  const [current] = house.authority.trusted();
  const commonName = /^CN=(.*)$/m.exec(String(current?.certificate.subject))?.[1] ?? '';
  const times = { notBefore: Date.now() - 60_000, notAfter: Date.now() + DAY_MS };
  const other = await makeAuthorityCertificate({ commonName, privateKey, ...times });
  const certificate = await makeCertificate(draft(leaf), { certificate: other, privateKey });
  return { key: leaf.key, certificate, authorities: house.authority.bundle() };
}

/** The same certificate with other bytes where its names are, signed anew by the authority. */
function malformed(house: IdentityHouse, { certificate, ...rest }: TlsIdentity): TlsIdentity {
  const der = Buffer.from(new X509Certificate(certificate).raw);
  // Of the subject's other names: an OCTET STRING with a SEQUENCE, which becomes a BIT STRING of nonsense.
  const at = der.indexOf(Buffer.from('0603551d11', 'hex'));
  der[at + 7] = 0x03;
  const body = der.subarray(4, 4 + 4 + der.readUInt16BE(6));
  return { certificate: sealed(body, house.stolenKey()), ...rest };
}

function sealed(body: Buffer, key: KeyObject): string {
  const algorithm = Buffer.from('300a06082a8648ce3d040302', 'hex');
  const signature = sign('sha256', body, key);
  const bits = Buffer.concat([Buffer.from([0x03, signature.length + 1, 0]), signature]);
  const length = Buffer.alloc(2);
  length.writeUInt16BE(body.length + algorithm.length + bits.length);
  const der = Buffer.concat([Buffer.from([0x30, 0x82]), length, body, algorithm, bits]);
  return `-----BEGIN CERTIFICATE-----\n${der.toString('base64').replaceAll(/(.{64})/g, '$1\n')}\n-----END CERTIFICATE-----\n`;
}

export interface RequestOnce {
  readonly identity: TlsIdentity | undefined;
  readonly authorities: string;
}

/** One request on a connection of its own. */
export function requestOnce(port: number, { identity, authorities }: RequestOnce): Promise<Attempted> {
  const tls = identity === undefined ? anonymousTlsOptions(authorities) : clientTlsOptions(identity);
  return new Promise((resolve) => {
    const sent = request({ host: '127.0.0.1', port, path: '/', agent: false, ...tls }, (response) => {
      response.resume();
      response.once('error', () => resolve('refused'));
      response.once('end', () => resolve(response.statusCode === 200 ? 'served' : 'refused'));
    });
    sent.once('error', () => resolve('refused'));
    sent.end();
  });
}

/** A connection with an earlier session; its answer, and whether the server took the session. */
export async function resumeSession(
  port: number,
  identity: TlsIdentity,
): Promise<{ readonly tickets: number; readonly isReused: boolean; readonly outcome: Attempted }> {
  const sessions: Buffer[] = [];
  const first = connect({ host: '127.0.0.1', port, ...clientTlsOptions(identity) });
  first.on('session', (session) => void sessions.push(session));
  await talk(first);
  const session = sessions.at(-1);
  const second = connect({
    host: '127.0.0.1',
    port,
    ...clientTlsOptions(identity),
    ...(session === undefined ? {} : { session }),
  });
  let isReused = false;
  // Asked here: a socket that is closed has forgotten it.
  second.once('secureConnect', () => {
    isReused = second.isSessionReused();
  });
  const outcome = await talk(second);
  return { tickets: sessions.length, isReused, outcome };
}

async function talk(socket: TLSSocket): Promise<Attempted> {
  let text = '';
  socket.on('data', (chunk: Buffer) => {
    text += chunk.toString('utf8');
  });
  socket.on('error', () => undefined);
  socket.write('GET / HTTP/1.1\r\nHost: palyrad\r\nConnection: close\r\n\r\n');
  await once(socket, 'close');
  return text.startsWith('HTTP/1.1 200') ? 'served' : 'refused';
}
