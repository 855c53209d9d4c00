// T-35, T-36, T-55: every certificate that must not be served, over a real TLS listener; also a resumed session.
import { once } from 'node:events';
import { connect, createSecureServer } from 'node:http2';
import { createServer } from 'node:https';
import {
  clientTlsOptions,
  createPeerGuard,
  createServerCertificate,
  guardListener,
  guardRequests,
  serverTlsOptions,
} from '@palyra/identity';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { certificateMatrix, expectedMatrix, requestOnce, resumeSession } from './certificate-matrix.ts';
import { type IdentityHouse, identityHouse } from './identity-house.ts';
import { listenIn } from './identity-listener.ts';

let house: IdentityHouse;
beforeAll(async () => {
  house = await identityHouse();
});
afterAll(() => house[Symbol.asyncDispose]());

test('of all certificates only the valid one is served', async () => {
  await using listener = await listenIn(house, { kinds: ['operator'] });
  const rows = await certificateMatrix({ house, port: listener.port, serves: 'operator', servesNot: 'agent' });
  expect(rows).toEqual(expectedMatrix(rows));
  expect(rows).toHaveLength(19);
});

test('a listener that forgot to insist on certificates still serves nobody without one', async () => {
  await using listener = await listenIn(house, { kinds: ['agent'], tls: { rejectUnauthorized: false } });
  const rows = await certificateMatrix({ house, port: listener.port, serves: 'agent', servesNot: 'operator' });
  expect(rows).toEqual(expectedMatrix(rows));
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
  const guard = await createPeerGuard(house);
  const certificate = await createServerCertificate(house);
  const handler = guardRequests((_request, response, peer) => void response.end(peer.device), { guard });
  const server = createSecureServer(serverTlsOptions(certificate.current()), handler as never);
  guardListener(server, { guard });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { tls, device } = await house.letIn('streams', 'operator');
  const session = connect(`https://127.0.0.1:${(server.address() as { port: number }).port}`, clientTlsOptions(tls));
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
  guard.close();
  certificate.close();
  server.close();
});

test('a device cannot pose as the daemon, though the same authority signed for both', async () => {
  const device = await house.letIn('mallory', 'agent');
  const client = await house.letIn('laptop-3', 'operator');
  const server = createServer({ key: device.tls.key, cert: device.tls.certificate }, (_request, response) =>
    response.end('hello'),
  );
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as { port: number };
  try {
    expect(await requestOnce(port, { identity: client.tls, authorities: house.authority.bundle() })).toBe('refused');
  } finally {
    server.close();
    server.closeAllConnections();
  }
});
