/**
 * T-35: the device is handed a certificate that is not valid here and now, of another CA, or for another key, or pairs
 * while its clock is wrong. T-55: a pairing connection is resumed, so that it has the channel binding of another one.
 */
import { generateKeyPairSync } from 'node:crypto';
import { connect, type TLSSocket } from 'node:tls';
import { makeRequest } from '@palyra/identity';
import { reveal } from '@palyra/primitives';
import { expect, test } from 'vitest';
import { makeCertificate } from '../../packages/identity/src/x509/make-certificates.ts';
import { createFakeClock } from '../../packages/testkit/src/fake-clock.ts';
import { codeOf, inputOf, joinInMemory, joinOverTls, openHouse, openTlsHouse } from './pairing-house.ts';
import { createThrowawayCa } from './throwaway-ca.ts';

const NOW = Date.now();
const HOUR = 3_600_000;

test('a certificate of another CA is refused, whether it brings that CA along or not', async () => {
  const other = await createThrowawayCa(() => NOW);
  const along = await openHouse({ issue: other.issue });
  expect(await codeOf(joinInMemory(along, inputOf(reveal(along.invite().pin))))).toBe('pairing.bad_certificate');

  const hidden = await openHouse({
    issue: async (asked) => ({ ...(await other.issue(asked)), caPem: hidden.ca.caPem }),
  });
  expect(await codeOf(joinInMemory(hidden, inputOf(reveal(hidden.invite().pin))))).toBe('pairing.bad_certificate');
});

test('the CA that was agreed on may come with the one that takes over from it', async () => {
  const next = await createThrowawayCa(() => NOW);
  const house = await openHouse({
    issue: async (asked) => {
      const issued = await house.ca.issue(asked);
      return { ...issued, caPem: `${next.caPem}${issued.caPem}` };
    },
  });
  expect((await joinInMemory(house, inputOf(reveal(house.invite().pin)))).caPem).toContain(next.caPem);
});

test("a certificate for somebody else's key is refused, and so is one that is no certificate", async () => {
  const stranger = await makeRequest();
  const house = await openHouse({ issue: (asked) => house.ca.issue({ ...asked, csrDer: stranger.csrDer }) });
  expect(await codeOf(joinInMemory(house, inputOf(reveal(house.invite().pin))))).toBe('pairing.bad_certificate');

  const garbled = await openHouse({
    issue: async (asked) => ({ ...(await garbled.ca.issue(asked)), certificatePem: 'none' }),
  });
  expect(await codeOf(joinInMemory(garbled, inputOf(reveal(garbled.invite().pin))))).toBe('pairing.bad_certificate');
});

test('a leaf in the place of the CA is refused', async () => {
  const house = await openHouse({
    issue: async (asked) => {
      const issued = await house.ca.issue(asked);
      return { ...issued, caPem: `${issued.caPem}${issued.certificatePem}` };
    },
  });
  expect(await codeOf(joinInMemory(house, inputOf(reveal(house.invite().pin))))).toBe('pairing.bad_certificate');
});

test.each<[string, number, number, string]>([
  ['not valid yet', 2 * HOUR, 3 * HOUR, 'By the clock of this device the certificate is not valid for another 2 h.'],
  ['expired', -3 * HOUR, -2 * HOUR, 'By the clock of this device the certificate expired 2 h ago.'],
])('a certificate that is %s is refused, and the device says by how much', async (_what, from, to, message) => {
  const start = Math.floor(NOW / 1000) * 1000;
  const clock = createFakeClock(start);
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const { makeAuthorityCertificate, readSigningRequest } = await import(
    '../../packages/identity/src/x509/make-certificates.ts'
  );
  const life = { notBefore: start - 10 * HOUR, notAfter: start + 10 * HOUR };
  const caPem = await makeAuthorityCertificate({ commonName: 'odd', privateKey, ...life });
  const house = await openHouse({
    clock,
    issue: async ({ csrDer }) => {
      const publicKey = await readSigningRequest(csrDer);
      const draft = { commonName: 'x', publicKey, purpose: 'client', names: [] } as const;
      const odd = { ...draft, notBefore: start + from, notAfter: start + to };
      const certificatePem = await makeCertificate(odd, { certificate: caPem, privateKey });
      return { certificatePem, caPem, device: '01ARZ3NDEKTSV4RRFFQ69G5FAV' };
    },
  });
  const { X509Certificate } = await import('node:crypto');
  const { sha256Hex } = await import('@palyra/primitives');
  const odd = { ...house, host: { ...house.host, ca: sha256Hex(new X509Certificate(caPem).raw) } };
  await expect(joinInMemory(odd, inputOf(reveal(house.invite().pin)))).rejects.toMatchObject({
    code: 'pairing.clock_skew',
    message,
  });
});

test.each<[string, number, string]>([
  ['behind', -26 * HOUR, 'The clock of this device is 1 d 2 h behind that of the host.'],
  ['ahead', 6 * 60_000, 'The clock of this device is 6 min ahead of that of the host.'],
])('a device whose clock is %s is told by how much, and nothing is issued', async (_what, off, message) => {
  const house = await openHouse({ clock: createFakeClock(NOW), deviceClock: createFakeClock(NOW + off) });
  const { pin, ended } = house.invite();
  await expect(joinInMemory(house, inputOf(reveal(pin)))).rejects.toMatchObject({
    code: 'pairing.clock_skew',
    message,
  });
  expect(await ended).toMatchObject({ kind: 'failed', error: { code: 'pairing.clock_skew' } });
  expect(house.ca.requests).toEqual([]);
});

test('a few minutes between the clocks are no obstacle', async () => {
  const house = await openHouse({ clock: createFakeClock(NOW), deviceClock: createFakeClock(NOW + 4 * 60_000) });
  expect(await joinInMemory(house, inputOf(reveal(house.invite().pin)))).toMatchObject({ kind: 'agent' });
});

test('the listener hands out no ticket, and takes no session up again', async () => {
  const house = await openTlsHouse();
  const { port } = house.listener;
  const open = (session?: Buffer): TLSSocket =>
    connect({
      port,
      host: '127.0.0.1',
      rejectUnauthorized: false,
      ALPNProtocols: ['palyra-pairing'],
      ...(session === undefined ? {} : { session }),
    }).on('error', () => undefined);
  try {
    const first = open();
    const sessions: Buffer[] = [];
    first.on('session', (session: Buffer) => void sessions.push(session));
    // Tickets come behind the handshake: the refusal of an empty frame comes behind the tickets.
    first.write(Buffer.alloc(4));
    await new Promise((resolve) => first.resume().on('close', resolve));
    const again = open(sessions.at(-1) ?? first.getSession());
    await new Promise((resolve) => again.on('secureConnect', resolve));
    expect([first.getProtocol() ?? 'TLSv1.3', again.getProtocol(), again.isSessionReused()]).toEqual([
      'TLSv1.3',
      'TLSv1.3',
      false,
    ]);
    again.destroy();
    const { pin } = house.invite();
    expect(await codeOf(joinOverTls(house, inputOf(reveal(pin))))).toBe('pairing.slow_down');
  } finally {
    await house.listener.close();
  }
});
