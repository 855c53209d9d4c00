// T-35: a stream that is open when its device is revoked, runs out, or loses its authority; on this node and on another;
// an authority that is replaced by two at once.
import { type ChildProcess, spawn } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { request } from 'node:https';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { type Credential, clientTlsOptions, createPeerGuard, rollOver, type TlsIdentity } from '@palyra/identity';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { requestOnce } from './certificate-matrix.ts';
import { type IdentityHouse, identityHouse } from './identity-house.ts';
import { type HouseListener, listenIn } from './identity-listener.ts';

const DAY_MS = 86_400_000;

let house: IdentityHouse;
beforeAll(async () => {
  house = await identityHouse();
});
afterAll(() => house[Symbol.asyncDispose]());

/** A stream that goes on for ever, once its first line is there. */
async function openStream(port: number, identity: TlsIdentity): Promise<{ readonly ended: Promise<unknown> }> {
  const sent = request({ host: '127.0.0.1', port, path: '/stream', agent: false, ...clientTlsOptions(identity) });
  sent.on('error', () => undefined);
  sent.end();
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  response.on('error', () => undefined);
  await once(response, 'data');
  response.resume();
  return { ended: new Promise((resolve) => void response.once('close', resolve)) };
}

async function otherNode(): Promise<{ readonly child: ChildProcess; readonly port: number }> {
  const program = fileURLToPath(new URL('programs/identity-listener.ts', import.meta.url));
  const place = JSON.stringify({ location: house.location, identity: house.identity });
  const child = spawn(process.execPath, ['--conditions=palyra-source', program, place], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const [line] = (await once(createInterface({ input: child.stdout }), 'line')) as [string];
  return { child, port: Number(line) };
}

async function expectEnded(listener: HouseListener, code: string): Promise<void> {
  await vi.waitFor(() => expect(listener.ended).toContain(code), { timeout: 10_000 });
}

test('a revocation ends the streams of the device on every node, and nobody else’s', async () => {
  // Never looked at without being told: what ends a stream here is the notice.
  await using listener = await listenIn(house, { recheckMs: 3_600_000 });
  const { child, port } = await otherNode();
  const lost = await house.letIn('lost', 'operator');
  const kept = await house.letIn('kept', 'operator');
  const here = await openStream(listener.port, lost.tls);
  const there = await openStream(port, lost.tls);
  await openStream(listener.port, kept.tls);
  expect(listener.guard.holding).toBe(2);

  await house.registry.revoke({ device: lost.device, reason: 'lost', by: 'user:ada' });
  await Promise.all([here.ended, there.ended]);
  expect(listener.ended).toEqual(['revoked']);
  expect(listener.guard.holding).toBe(1);
  expect(await requestOnce(port, { identity: lost.tls, authorities: house.authority.bundle() })).toBe('refused');
  expect(await requestOnce(port, { identity: kept.tls, authorities: house.authority.bundle() })).toBe('served');
  child.stdin?.end();
  await once(child, 'exit');
});

test('a notice that was lost is made up for: a stream ends though nobody told', async () => {
  const deaf = { ...house.registry, watch: async () => ({ close: () => undefined }) };
  await using listener = await listenIn({ ...house, registry: deaf }, { recheckMs: 20 });
  const lost = await house.letIn('lost-again', 'operator');
  const stream = await openStream(listener.port, lost.tls);
  await house.registry.revoke({ device: lost.device, reason: 'lost', by: 'user:ada' });
  await stream.ended;
  expect(listener.ended).toEqual(['revoked']);
});

test('a stream ends when its certificate runs out', async () => {
  await using listener = await listenIn(house, { recheckMs: 20 });
  const { tls } = await house.letIn('forgotten', 'operator');
  const stream = await openStream(listener.port, tls);
  house.clock.aheadMs = 7 * DAY_MS + 1_000;
  await stream.ended;
  house.clock.aheadMs = 0;
  await expectEnded(listener, 'expired');
});

test('a role that was taken away is gone with the next request of the same connection', async () => {
  await using listener = await listenIn(house);
  const { tls, device } = await house.letIn('demoted', 'operator', ['admin', 'approver']);
  const agent = clientTlsOptions(tls);
  const ask = async () => {
    const sent = request({ host: '127.0.0.1', port: listener.port, path: '/', agent: false, ...agent }).end();
    const [response] = (await once(sent, 'response')) as [IncomingMessage];
    return JSON.parse(String(await once(response, 'data'))) as { roles: string[]; groups: string[] };
  };
  expect(await ask()).toMatchObject({ roles: ['admin', 'approver'], groups: ['admin', 'approver'] });
  await house.registry.setRoles({ device, roles: ['approver'], by: 'user:ada' });
  expect(await ask()).toMatchObject({ roles: ['approver'], groups: ['approver'] });
});

test('a registry that cannot be read lets nobody in', async () => {
  await using other = await identityHouse();
  await using listener = await listenIn(other);
  const { tls } = await other.letIn('laptop', 'operator');
  expect(await requestOnce(listener.port, { identity: tls, authorities: other.authority.bundle() })).toBe('served');
  await other.database.close();
  expect(await requestOnce(listener.port, { identity: tls, authorities: other.authority.bundle() })).toBe('refused');
  expect(listener.ended).toContain('registry_unavailable');
});

test('after a roll-over the old authority counts for a while, and then for nothing, streams included', async () => {
  await using other = await identityHouse({ beside: house });
  await using listener = await listenIn(other, { recheckMs: 20 });
  const old = await other.letIn('old', 'operator');
  const roll = (isWanted = false) => rollOver(other.identity, { clock: other.clock, isWanted });
  const attempt = (identity: TlsIdentity) => requestOnce(listener.port, { identity, authorities: '' });

  expect(await roll(true)).toBe('prepared');
  expect(await listener.certificate.tend()).toBe('other authorities');
  // The next authority is known and signs nothing yet.
  const between = await other.letIn('between', 'operator');
  other.clock.aheadMs = 14 * DAY_MS;
  expect(await roll()).toBe('activated');
  expect(await roll()).toBe('nothing due');
  other.clock.aheadMs = 0;
  expect(await listener.certificate.tend()).toBe('renewed');

  // A device that heard of both meets the new server certificate, and is met with a certificate of the old authority.
  expect(await attempt({ ...old.tls, authorities: other.authority.bundle() })).toBe('served');
  expect(await attempt(between.tls)).toBe('served');
  const stream = await openStream(listener.port, between.tls);
  const renewed = await other.letIn('new', 'operator');
  expect(await attempt(renewed.tls)).toBe('served');

  // Certificates that would still be good, of an authority that is not.
  const long = {
    ...other.authority,
    trusted: () => other.authority.trusted().filter(({ state }) => state !== 'previous'),
  };
  await using strict = await listenIn({ ...other, authority: long }, { recheckMs: 20 });
  expect(await requestOnce(strict.port, { identity: between.tls, authorities: '' })).toBe('refused');
  other.clock.aheadMs = 28 * DAY_MS;
  await stream.ended;
  expect(await roll()).toBe('retired');
  expect(other.authority.trusted()).toHaveLength(1);
});

test('a stream whose authority is thrown away ends with it, though its certificate is good for days', async () => {
  await using other = await identityHouse({ beside: house });
  await using listener = await listenIn(other, { recheckMs: 20 });
  const { tls } = await other.letIn('laptop', 'operator');
  const stream = await openStream(listener.port, tls);
  expect(await rollOver(other.identity, { clock: other.clock, isUrgent: true })).toBe('activated');
  await stream.ended;
  expect(listener.ended).toEqual(['unknown_authority']);
});

test('of several roll-overs at once each leaves an authority whose key is there, and no other key', async () => {
  await using other = await identityHouse({ beside: house });
  const before = other.authority.trusted()[0]?.id;
  const outcomes = await Promise.allSettled(
    Array.from({ length: 6 }, () => rollOver(other.identity, { clock: other.clock, isUrgent: true })),
  );
  const refused = outcomes.flatMap((each) => (each.status === 'rejected' ? [Object(each.reason).code] : []));
  expect(new Set(refused)).toEqual(new Set(['identity.ca_busy']));
  // At worst all of them saw one another: then nothing has happened.
  await rollOver(other.identity, { clock: other.clock, isUrgent: true });
  const [current] = other.authority.trusted();
  expect(current?.id).not.toBe(before);
  const keys = readdirSync(join(other.identity, 'ca')).filter((name) => name.endsWith('.key'));
  expect(keys).toEqual([`${current?.id.slice(0, 16)}.key`]);
  await other.letIn('after', 'operator');
});

test('a registry that does not answer ends what it cannot vouch for', async () => {
  let isHanging = false;
  const registry = {
    ...house.registry,
    find: (device: Parameters<typeof house.registry.find>[0]) =>
      isHanging ? new Promise<never>(() => undefined) : house.registry.find(device),
  };
  await using listener = await listenIn({ ...house, registry }, { recheckMs: 20, patienceMs: 50 });
  const { tls } = await house.letIn('partitioned', 'agent');
  const { ended } = await openStream(listener.port, tls);
  isHanging = true;
  await ended;
  await expectEnded(listener, 'registry_unavailable');
  expect(await requestOnce(listener.port, { identity: tls, authorities: '' })).toBe('refused');
});

test('one that cannot be ended in peace does not save the others', async () => {
  const [first, second] = [await house.letIn('clinging', 'agent'), await house.letIn('next', 'agent')];
  // Nobody is told, so all depends on looking again and again.
  const registry = { ...house.registry, watch: async () => ({ close: () => undefined }) };
  const guard = await createPeerGuard({ ...house, registry, recheckMs: 20 });
  const socketOf = ({ tls }: Credential) => ({
    authorized: true,
    isSessionReused: () => false,
    getPeerX509Certificate: () => new X509Certificate(tls.certificate),
  });
  await guard.hold(socketOf(first), () => {
    throw new Error('The log is full.');
  });
  const ended = new Promise((resolve) => void guard.hold(socketOf(second), resolve));
  await house.registry.revoke({ device: first.device, reason: 'lost', by: 'user:ada' });
  await vi.waitFor(() => expect(guard.holding).toBe(1));
  await house.registry.revoke({ device: second.device, reason: 'lost', by: 'user:ada' });
  expect(await ended).toMatchObject({ code: 'revoked' });
  guard.close();
});
