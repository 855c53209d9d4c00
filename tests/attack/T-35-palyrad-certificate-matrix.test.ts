// T-35, T-36, T-55: every certificate that must not be served, at the listeners of a real palyrad: its API over HTTP/2,
// HTTP/1.1 and gRPC, renewal, and pairing while somebody is invited.
import { connect } from 'node:http2';
import { createClient } from '@connectrpc/connect';
import { createGrpcTransport, Http2SessionManager } from '@connectrpc/connect-node';
import { DeviceService } from '@palyra/api';
import {
  anonymousTlsOptions,
  clientTlsOptions,
  type DeviceKind,
  openAuthority,
  openRegistry,
  RENEWAL_PATH,
  type Role,
  type TlsIdentity,
} from '@palyra/identity';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { declareLongLived } from '../../packages/testkit/src/process-mark.ts';
import { type PalyradProcess, startPalyrad } from '../palyrad-process.ts';
import {
  type Attempted,
  type CertificateCases,
  certificateCases,
  certificateMatrix,
  expectedMatrix,
  requestOnce,
} from './certificate-matrix.ts';
import { type IdentityHouse, letIn, shiftedClock, stolenKeyIn } from './identity-house.ts';
import { openIdentityDatabase } from './identity-listener.ts';
import { pairOnce, post } from './matrix-listeners.ts';

const ROLES: Readonly<Record<DeviceKind, readonly Role[]>> = {
  operator: ['operator'],
  agent: ['agent'],
  node: [],
  service: [],
};
const NOT_SERVED = 'of a kind that is not served here';
const VALID = 'a valid certificate';
const PATH = '/palyra.v1.DeviceService/ListDevices';

let palyrad: PalyradProcess;
let house: IdentityHouse;
let cases: CertificateCases;
let authorities: string;
beforeAll(async () => {
  palyrad = await startPalyrad();
  declareLongLived(palyrad.child.pid ?? 0);
  house = await houseOf(palyrad);
  authorities = house.authority.bundle();
  cases = await certificateCases(house, { serves: 'operator', servesNot: 'node' });
});
afterAll(async () => {
  await house[Symbol.asyncDispose]();
  await palyrad[Symbol.asyncDispose]();
});

/** The home of palyrad, for those who hold its authority and its database. */
async function houseOf({ home }: PalyradProcess): Promise<IdentityHouse> {
  const location = { kind: 'sqlite', path: home.database } as const;
  const database = await openIdentityDatabase(location, 'as found');
  const clock = shiftedClock();
  const authority = openAuthority(home.identity, { clock });
  const registry = openRegistry({ database, clock });
  const { identity } = home;
  return {
    path: home.root,
    identity,
    location,
    database,
    authority,
    registry,
    clock,
    letIn: (name, kind) => letIn({ identity, authority, registry }, { name, kind, roles: ROLES[kind] }),
    stolenKey: () => stolenKeyIn(home.identity, authority),
    [Symbol.asyncDispose]: () => database.close(),
  };
}

const tlsOf = (identity: TlsIdentity | undefined) =>
  identity === undefined ? anonymousTlsOptions(authorities) : clientTlsOptions(identity);

function overHttp2(identity: TlsIdentity | undefined): Promise<Attempted> {
  return new Promise((resolve) => {
    const end = (outcome: Attempted) => {
      resolve(outcome);
      session.destroy();
    };
    const refused = () => end('refused');
    const session = connect(`https://${palyrad.address}`, tlsOf(identity)).on('error', refused).on('close', refused);
    const stream = session.request({ ':method': 'POST', ':path': PATH, 'content-type': 'application/json' });
    stream.on('error', refused).once('response', ({ ':status': status }) => end(status === 200 ? 'served' : 'refused'));
    stream.end('{}');
  });
}

async function overHttp1(identity: TlsIdentity | undefined, path = PATH): Promise<Attempted> {
  const headers = { 'content-type': 'application/json' };
  const { status } = await post(palyrad.port, { identity, authorities, path, body: '{}', headers });
  return status === 200 ? 'served' : 'refused';
}

async function overGrpc(identity: TlsIdentity | undefined): Promise<Attempted> {
  const baseUrl = `https://${palyrad.address}`;
  const sessionManager = new Http2SessionManager(baseUrl, {}, tlsOf(identity));
  try {
    await createClient(DeviceService, createGrpcTransport({ baseUrl, sessionManager })).listDevices({});
    return 'served';
  } catch {
    return 'refused';
  } finally {
    sessionManager.abort();
  }
}

test.each([
  ['HTTP/2', overHttp2],
  ['HTTP/1.1', overHttp1],
  ['gRPC', overGrpc],
])('over %s only the valid one is served', async (_name, attempt) => {
  const rows = await certificateMatrix(cases, (identity) => attempt(identity));
  expect(rows).toEqual(expectedMatrix(cases));
  expect(rows).toHaveLength(19);
});

test('renewed is what is good, of whatever kind, and nothing else', async () => {
  const rows = await certificateMatrix(cases, (identity) => overHttp1(identity, RENEWAL_PATH));
  expect(rows).toEqual(expectedMatrix(cases, { serves: [VALID, NOT_SERVED] }));
});

test('where devices are paired, no certificate opens the API, and none is more than nobody', async () => {
  const inviting = palyrad.client(DeviceService, 'operator').pairDevice({ kind: 'agent', name: 'invited' });
  const events = inviting[Symbol.asyncIterator]();
  const { event } = (await events.next()).value ?? {};
  if (event?.case !== 'invitation') throw new Error('Nobody is invited.');
  const port = Number(event.value.address.split(':').at(-1));
  const served = await certificateMatrix(cases, (identity) => requestOnce(port, { identity, authorities }));
  expect(served).toEqual(expectedMatrix(cases, { serves: [] }));
  const before = (await house.registry.list()).length;
  // Whoever comes first may try the PIN; it hangs up, and no certificate gets anybody around the wait that follows.
  const welcomed = await certificateMatrix(cases, (identity) => pairOnce(port, { identity, authorities }));
  expect(welcomed).toEqual(expectedMatrix(cases, { serves: ['none'] }));
  expect(await house.registry.list()).toHaveLength(before);
});
