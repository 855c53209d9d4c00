import { X509Certificate } from 'node:crypto';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createIdSource } from '@palyra/primitives';
import { createFakeClock } from '@palyra/testkit';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createDeviceKey } from '../keys/device-key.ts';
import { issueListenerCredential } from '../pairing/listener-credential.ts';
import { DAY_MS, renewalDueAt } from './lifetimes.ts';
import { createAuthority, openAuthority } from './open-authority.ts';
import { rollOver } from './roll-over.ts';
import { rollOverState } from './roll-over-state.ts';

let home = '';
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'palyra-ca-'));
});
afterEach(() => rmSync(home, { recursive: true }));

const clock = createFakeClock();
const { publicKey } = createDeviceKey();
const device = createIdSource().newId('device');

test('an authority signs leaves of a week for clients and for servers, and lives two years', async () => {
  const authority = await createAuthority(home, { clock });
  const [current] = authority.trusted();
  expect(current?.trustedUntil).toBe(clock.now() + 730 * DAY_MS);
  expect(current?.certificate.ca).toBe(true);

  const issued = await authority.issueDevice({ device, kind: 'node', publicKey });
  expect([issued.notBefore, issued.notAfter]).toEqual([clock.now() - 300_000, clock.now() + 7 * DAY_MS]);
  const client = new X509Certificate(issued.pem);
  expect([client.ca, client.keyUsage, client.subjectAltName]).toEqual([
    false,
    ['1.3.6.1.5.5.7.3.2'],
    `URI:palyra://device/${device}, URI:palyra://kind/node`,
  ]);
  const server = new X509Certificate(
    (await authority.issueServer({ publicKey, hosts: ['localhost', '127.0.0.1', '::1'] })).pem,
  );
  expect([server.ca, server.keyUsage]).toEqual([false, ['1.3.6.1.5.5.7.3.1']]);
  expect(server.checkHost('localhost')).toBe('localhost');
  expect(server.checkIP('127.0.0.1')).toBe('127.0.0.1');
});

test('a pairing listener has a certificate of half an hour, for its address and not for palyrad', async () => {
  const authority = await createAuthority(home, { clock });
  const named = async (address: string) => {
    const { certificatePem } = await issueListenerCredential(authority, address);
    return new X509Certificate(certificatePem);
  };
  const certificate = await named('192.0.2.7');
  const [current] = authority.trusted();
  expect(current === undefined || certificate.verify(current.certificate.publicKey)).toBe(true);
  expect(certificate.validToDate.getTime()).toBe(clock.now() + 1_800_000);
  expect([certificate.keyUsage, certificate.subjectAltName]).toEqual([
    ['1.3.6.1.5.5.7.3.1'],
    'IP Address:192.0.2.7, URI:palyra://pairing',
  ]);
  const others = await Promise.all(['build-03.lan', 'fe80::1%eth0', 'no host'].map(named));
  expect(others.map(({ subjectAltName }) => subjectAltName)).toEqual([
    'DNS:build-03.lan, URI:palyra://pairing',
    'URI:palyra://pairing',
    'URI:palyra://pairing',
  ]);
});

test('there is one, and what is damaged is not taken for none', async () => {
  expect(() => openAuthority(home).trusted()).toThrow(expect.objectContaining({ code: 'identity.ca_missing' }));
  await createAuthority(home, { clock });
  await expect(createAuthority(home, { clock })).rejects.toMatchObject({ code: 'identity.ca_exists' });
  writeFileSync(join(home, 'ca', 'authorities.json'), '{"format":"palyra.ca/1","authorities":[]}');
  expect(() => openAuthority(home).trusted()).toThrow(expect.objectContaining({ code: 'identity.ca_invalid' }));
});

test('a planned roll-over has three steps, keeps the trust that is needed and no key that is not', async () => {
  const time = createFakeClock();
  const authority = await createAuthority(home, { clock: time });
  const keys = () => readdirSync(join(home, 'ca')).filter((name) => name.endsWith('.key')).length;
  const states = () => authority.trusted().map(({ state }) => state);
  const roll = () => rollOver(home, { clock: time });
  expect(await roll()).toBe('nothing due');

  await time.advance(641 * DAY_MS);
  expect([await roll(), await roll(), states(), keys()]).toEqual(['prepared', 'nothing due', ['current', 'next'], 2]);
  const first = authority.trusted()[0]?.id;
  await time.advance(14 * DAY_MS);
  expect([await roll(), states(), keys()]).toEqual(['activated', ['current', 'previous'], 1]);
  expect(authority.trusted()[1]?.id).toBe(first);
  const issued = await authority.issueDevice({ device, kind: 'agent', publicKey });
  expect(new X509Certificate(issued.pem).verify(authority.trusted()[0]?.certificate.publicKey as never)).toBe(true);

  await time.advance(14 * DAY_MS);
  // By the clock alone, whether or not anybody has tidied up.
  expect(states()).toEqual(['current']);
  expect([await roll(), await roll()]).toEqual(['retired', 'nothing due']);
});

test('who wants a roll-over while one is under way gets its next step, and no second one', async () => {
  const time = createFakeClock();
  const authority = await createAuthority(home, { clock: time });
  const roll = () => rollOver(home, { clock: time, isWanted: true });
  const state = () => rollOverState(authority.trusted());
  expect(state()).toEqual({ kind: 'steady', next: 'prepare', dueAt: time.now() + 640 * DAY_MS });
  expect([await roll(), await roll()]).toEqual(['prepared', 'nothing due']);
  expect(state()).toEqual({ kind: 'prepared', next: 'activate', dueAt: time.now() + 14 * DAY_MS });
  await time.advance(14 * DAY_MS);
  expect([await roll(), await roll()]).toEqual(['activated', 'nothing due']);
  expect(state()).toEqual({ kind: 'activated', next: 'retire', dueAt: time.now() + 14 * DAY_MS });
  await time.advance(14 * DAY_MS);
  expect([await roll(), await roll()]).toEqual(['retired', 'prepared']);
});

test('a key that outlived its step, because nobody lived to destroy it, goes with the next look', async () => {
  await createAuthority(home, { clock });
  writeFileSync(join(home, 'ca', '0123456789abcdef.key'), 'old', { mode: 0o600 });
  expect(await rollOver(home, { clock })).toBe('nothing due');
  expect(readdirSync(join(home, 'ca')).filter((name) => name.endsWith('.key'))).toHaveLength(1);
});

test('an urgent one trusts nothing of before', async () => {
  const authority = await createAuthority(home, { clock });
  const before = authority.trusted()[0]?.id;
  expect(await rollOver(home, { clock, isUrgent: true })).toBe('activated');
  expect(authority.trusted().map(({ id }) => id)).not.toContain(before);
  expect(authority.trusted()).toHaveLength(1);
});

test('an authority that has run out signs nothing, and no leaf outlives it', async () => {
  const time = createFakeClock();
  const authority = await createAuthority(home, { clock: time, lifetimes: { authorityMs: 3 * DAY_MS } });
  expect((await authority.issueDevice({ device, kind: 'agent', publicKey })).notAfter).toBe(time.now() + 3 * DAY_MS);
  await time.advance(3 * DAY_MS);
  await expect(authority.issueDevice({ device, kind: 'agent', publicKey })).rejects.toMatchObject({
    code: 'identity.ca_expired',
  });
});

test('renewal is due at two thirds of a life', () => {
  expect(renewalDueAt({ notBefore: 0, notAfter: 9 })).toBe(6);
});
