// T-35, T-36, T-55: every certificate that must not be served, over every listener there is; also a resumed session.
import { once } from 'node:events';
import { connect } from 'node:http2';
import { createServer } from 'node:https';
import { clientTlsOptions, issueListenerCredential, type ListenerCredential, type TlsIdentity } from '@palyra/identity';
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  type CertificateCases,
  certificateCases,
  certificateMatrix,
  expectedMatrix,
  requestOnce,
  resumeSession,
} from './certificate-matrix.ts';
import { type IdentityHouse, identityHouse } from './identity-house.ts';
import { listenIn } from './identity-listener.ts';
import {
  enrolmentListener,
  helloOnce,
  http2Listener,
  pairingListener,
  pairOnce,
  renewOnce,
  requestOverHttp2,
  streamListener,
} from './matrix-listeners.ts';

let house: IdentityHouse;
let cases: CertificateCases;
beforeAll(async () => {
  house = await identityHouse();
  cases = await certificateCases(house, { serves: 'operator', servesNot: 'agent' });
});
afterAll(() => house[Symbol.asyncDispose]());

const ONLY = { kinds: ['operator'] } as const;

test('over HTTPS only the valid one is served, and renewed', async () => {
  await using listener = await listenIn(house, ONLY);
  const authorities = house.authority.bundle();
  const rows = await certificateMatrix(cases, (identity) => requestOnce(listener.port, { identity, authorities }));
  expect(rows).toEqual(expectedMatrix(cases));
  expect(rows).toHaveLength(19);
  const renewed = await certificateMatrix(cases, (identity) => renewOnce(listener.port, { identity, authorities }));
  expect(renewed).toEqual(expectedMatrix(cases));
});

test('a listener that forgot to insist on certificates still serves nobody without one', async () => {
  await using listener = await listenIn(house, { ...ONLY, tls: { rejectUnauthorized: false } });
  const authorities = house.authority.bundle();
  const rows = await certificateMatrix(cases, (identity) => requestOnce(listener.port, { identity, authorities }));
  expect(rows).toEqual(expectedMatrix(cases));
});

test('over HTTP/2, and on a stream of bytes, it is the same', async () => {
  const authorities = house.authority.bundle();
  await using http2 = await http2Listener(house, ONLY);
  const requests = await certificateMatrix(cases, (identity) =>
    requestOverHttp2(http2.port, { identity, authorities }),
  );
  expect(requests).toEqual(expectedMatrix(cases));
  await using stream = await streamListener(house, ONLY);
  const streams = await certificateMatrix(cases, (identity) => helloOnce(stream.port, { identity, authorities }));
  expect(streams).toEqual(expectedMatrix(cases));
});

test('where devices are let in, no certificate stands for the token or the invitation', async () => {
  const authorities = house.authority.bundle();
  await using enrolment = await enrolmentListener(house);
  const enrolled = await certificateMatrix(cases, (identity) => renewOnce(enrolment.port, { identity, authorities }));
  expect(enrolled).toEqual(expectedMatrix(cases, { serves: [] }));
  await using pairing = await pairingListener();
  const paired = await certificateMatrix(cases, (identity) => pairOnce(pairing.port, { identity, authorities }));
  expect(paired).toEqual(expectedMatrix(cases, { serves: [] }));
});

test('a session is not resumed, and its certificate is asked for again', async () => {
  await using listener = await listenIn(house);
  const { tls } = await house.letIn('laptop-1', 'operator');
  expect(await resumeSession(listener.port, tls)).toMatchObject({ isReused: false, outcome: 'served' });
});

test('a listener that forgot to switch tickets off refuses what was resumed', async () => {
  await using listener = await listenIn(house, { tls: { secureOptions: 0 } });
  const { tls } = await house.letIn('laptop-2', 'operator');
  expect(await resumeSession(listener.port, tls)).toMatchObject({ isReused: true, outcome: 'refused' });
  expect(listener.ended).toContain('resumed_session');
});

test('over HTTP/2 each request is admitted by itself, and a revocation ends the session', async () => {
  await using listener = await http2Listener(house);
  const { tls, device } = await house.letIn('streams', 'operator');
  const session = connect(`https://127.0.0.1:${listener.port}`, clientTlsOptions(tls));
  const ask = async () => {
    let text = '';
    const stream = session.request({ ':path': '/' }).on('error', () => undefined);
    for await (const chunk of stream) text += String(chunk);
    return text;
  };
  expect([await ask(), await ask()]).toEqual([device, device]);
  const closed = once(session, 'close');
  await house.registry.revoke({ device, reason: 'lost', by: 'user:ada' });
  await closed;
});

test.each([
  ['a device', 'laptop-3', async () => ofDevice((await house.letIn('mallory', 'agent')).tls)],
  [
    'a pairing listener',
    'laptop-4',
    async () => ofListener(await issueListenerCredential(house.authority, '127.0.0.1')),
  ],
])('%s cannot pose as the daemon, though the same authority signed for both', async (_who, laptop, makeTls) => {
  const client = await house.letIn(laptop, 'operator');
  const server = createServer(await makeTls(), (_request, response) => response.end('hello'));
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as { port: number };
  try {
    expect(await requestOnce(port, { identity: client.tls, authorities: house.authority.bundle() })).toBe('refused');
  } finally {
    server.close();
    server.closeAllConnections();
  }
});

function ofDevice({ key, certificate: cert }: TlsIdentity) {
  return { key, cert };
}

function ofListener({ privateKeyPem: key, certificatePem: cert }: ListenerCredential) {
  return { key, cert };
}
