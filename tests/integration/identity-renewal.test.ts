import type { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { createServer, request } from 'node:https';
import { join } from 'node:path';
import { connect } from 'node:tls';
import {
  clientTlsOptions,
  keepRenewed,
  openAuthority,
  openCredential,
  renewalDueAt,
  requestRenewal,
  serverTlsOptions,
  storeCertificate,
  type TlsIdentity,
} from '@palyra/identity';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createFakeClock } from '../../packages/testkit/src/fake-clock.ts';
import { type IdentityHouse, identityHouse } from '../attack/identity-house.ts';
import { type HouseListener, listenIn } from '../attack/identity-listener.ts';

const DAY_MS = 86_400_000;

let house: IdentityHouse;
let listener: HouseListener;
beforeAll(async () => {
  house = await identityHouse();
  listener = await listenIn(house);
});
afterAll(async () => {
  await listener[Symbol.asyncDispose]();
  await house[Symbol.asyncDispose]();
});

async function ask(port: number, identity: TlsIdentity): Promise<Record<string, unknown>> {
  const sent = request({ host: '127.0.0.1', port, path: '/', agent: false, ...clientTlsOptions(identity) }).end();
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  let text = '';
  for await (const chunk of response) text += String(chunk);
  return JSON.parse(text) as Record<string, unknown>;
}

test('a device renews over its own connection, and both certificates are good for a while', async () => {
  const before = await house.letIn('renewing', 'agent');
  const directory = join(house.identity, 'devices', 'renewing');
  const files = await requestRenewal(before, { host: '127.0.0.1', port: listener.port });
  storeCertificate(directory, files);
  const after = openCredential(directory);
  expect(after.device).toBe(before.device);
  expect(after.tls.certificate).not.toBe(before.tls.certificate);
  expect(await ask(listener.port, before.tls)).toMatchObject({ device: before.device });
  expect(await ask(listener.port, after.tls)).toMatchObject({ device: before.device });
  expect((await house.registry.find(before.device))?.notAfter).toBe(after.notAfter);
});

test('an answer that is no certificate of this key leaves the one there is', async () => {
  const own = await house.letIn('careful', 'agent');
  const other = await house.letIn('somebody-else', 'agent');
  const directory = join(house.identity, 'devices', 'careful');
  const { certificate: certificatePem, authorities: caPem } = own.tls;
  for (const answer of [
    { certificatePem: other.tls.certificate, caPem },
    { certificatePem, caPem: '' },
    { certificatePem, caPem: certificatePem },
    { certificatePem: 'nonsense', caPem },
  ]) {
    expect(() => storeCertificate(directory, answer)).toThrow(
      expect.objectContaining({ code: 'identity.key_invalid' }),
    );
    expect(openCredential(directory).tls).toEqual(own.tls);
  }
});

test('a device that is on renews by itself, in time, and goes on trying', async () => {
  const { notBefore, notAfter } = await house.letIn('patient', 'agent');
  const directory = join(house.identity, 'devices', 'patient');
  const clock = createFakeClock(notBefore + 1);
  const stop = new AbortController();
  const told: string[] = [];
  let refusals = 2;
  const kept = keepRenewed({
    directory,
    clock,
    signal: stop.signal,
    told: ({ kind }) => void told.push(kind),
    async renew(credential) {
      refusals -= 1;
      if (refusals >= 0) throw new Error('away');
      expect(clock.now()).toBeGreaterThanOrEqual(renewalDueAt({ notBefore, notAfter }));
      expect(clock.now()).toBeLessThan(notAfter);
      stop.abort();
      return requestRenewal(credential, { host: '127.0.0.1', port: listener.port });
    },
  });
  await clock.advance(6 * DAY_MS);
  await kept;
  expect(told).toEqual(['failed', 'failed', 'renewed']);
});

test('a certificate that is due as soon as it is there is not asked for without pause', async () => {
  await house.letIn('brief', 'agent');
  const directory = join(house.identity, 'devices', 'brief');
  const clock = createFakeClock(Date.now() + 6 * DAY_MS);
  const stop = new AbortController();
  const asked: number[] = [];
  const files = { certificatePem: openCredential(directory).tls.certificate, caPem: house.authority.bundle() };
  const kept = keepRenewed({
    directory,
    clock,
    signal: stop.signal,
    async renew() {
      asked.push(clock.now());
      return files;
    },
  });
  await clock.advance(60 * 60_000);
  stop.abort();
  await kept;
  const pauses = asked.slice(1).map((time, at) => (time - (asked[at] ?? 0)) / 60_000);
  expect(pauses).toEqual([1, 2, 4, 8, 16]);
});

test('what a daemon gives that cannot be used does not take the place of what can', async () => {
  const [own, other] = [await house.letIn('own', 'agent'), await house.letIn('other', 'agent')];
  await using stranger = await identityHouse({ beside: house });
  const elsewhere = await stranger.letIn('elsewhere', 'agent');
  const { certificate, authorities } = own.tls;
  const answers = [
    { certificate: other.tls.certificate, authorities },
    { certificate, authorities: elsewhere.tls.authorities },
    { certificate, authorities: `${authorities}${other.tls.certificate}` },
    { certificate: 'none', authorities },
    { certificate, authorities: '' },
    { certificate },
    { certificate, authorities },
  ];
  const server = createServer(serverTlsOptions(listener.certificate.current()), (_request, response) => {
    response.end(JSON.stringify(answers.shift()));
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as { port: number };
  for (let left = answers.length; left > 1; left -= 1) {
    await expect(requestRenewal(own, { host: '127.0.0.1', port })).rejects.toMatchObject({
      code: 'identity.renewal_failed',
    });
  }
  expect(await requestRenewal(own, { host: '127.0.0.1', port })).toEqual({
    certificatePem: certificate,
    caPem: authorities,
  });
  server.close();
});

test('the daemon’s certificate is swapped without dropping a connection', async () => {
  // So short that it is due at once.
  const authority = openAuthority(house.identity, { lifetimes: { certificateMs: 60_000 } });
  await using short = await listenIn({ ...house, authority });
  const { tls } = await house.letIn('connected', 'operator');
  const served = async () => {
    const socket = connect({ host: '127.0.0.1', port: short.port, ...clientTlsOptions(tls) });
    await once(socket, 'secureConnect');
    const { serialNumber } = socket.getPeerX509Certificate() as X509Certificate;
    socket.destroy();
    return serialNumber;
  };
  const open = connect({ host: '127.0.0.1', port: short.port, ...clientTlsOptions(tls) });
  const askOnIt = async () => {
    open.write('GET / HTTP/1.1\r\nHost: palyrad\r\n\r\n');
    return String((await once(open, 'data'))[0]);
  };

  const before = await served();
  expect(await askOnIt()).toContain('HTTP/1.1 200');
  expect(await short.certificate.tend()).toBe('renewed');
  expect(await served()).not.toBe(before);
  // It stands between the two that were made before and after it, and knows nothing of the change.
  expect(await askOnIt()).toContain('HTTP/1.1 200');
  open.destroy();
});
