/**
 * T-39: somebody fails as fast as they can, from this very host: without a certificate, with one that does not count, with
 * nothing at all; or renews without end. Each is slowed down, and nobody else is shut out.
 */
import { once } from 'node:events';
import { connect as connectTcp, type Socket } from 'node:net';
import { connect } from 'node:tls';
import {
  clientTlsOptions,
  createHandshakeThrottle,
  type HandshakeThrottle,
  RENEWAL_PATH,
  type TlsIdentity,
} from '@palyra/identity';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createFakeClock, type FakeClock } from '../../packages/testkit/src/fake-clock.ts';
import { requestOnce } from './certificate-matrix.ts';
import { type IdentityHouse, identityHouse } from './identity-house.ts';
import { type HouseListener, listenIn } from './identity-listener.ts';
import { post, requestFor } from './matrix-listeners.ts';

let house: IdentityHouse;
let good: TlsIdentity;
let revoked: TlsIdentity;
beforeAll(async () => {
  house = await identityHouse();
  good = (await house.letIn('good', 'agent')).tls;
  const lost = await house.letIn('lost', 'agent');
  await house.registry.revoke({ device: lost.device, reason: 'lost', by: 'user:ada' });
  revoked = lost.tls;
});
afterAll(() => house[Symbol.asyncDispose]());

const FAILURES = 5;
const WAITING = 3;

interface Slow extends AsyncDisposable {
  readonly clock: FakeClock;
  readonly listener: HouseListener;
  /** Resolves when the listener has taken that many connections, in all. */
  taken(count: number): Promise<void>;
  /** Resolves when it has counted that many failures: whoever failed hears of it first. */
  failed(count: number): Promise<void>;
}

/** Time stands still: what waits, waits until the test says otherwise. */
async function slowListener(): Promise<Slow> {
  const clock = createFakeClock();
  const limits = { failures: FAILURES, refillMs: 60_000, waitMs: 1_000, waiting: WAITING };
  const throttle = createHandshakeThrottle(clock, limits);
  const [connections, failures] = [counter(), counter()];
  const failed: HandshakeThrottle['failed'] = (address) => {
    throttle.failed(address);
    failures.add();
  };
  const listener = await listenIn(house, { handshakes: { ...throttle, failed } });
  listener.server.on('connection', connections.add);
  return {
    clock,
    listener,
    taken: connections.reached,
    failed: failures.reached,
    [Symbol.asyncDispose]: () => listener[Symbol.asyncDispose](),
  };
}

function counter() {
  let count = 0;
  let heard = Promise.withResolvers<void>();
  return {
    add() {
      count += 1;
      heard.resolve();
      heard = Promise.withResolvers<void>();
    },
    async reached(wanted: number) {
      while (count < wanted) await heard.promise;
    },
  };
}

async function closed(socket: Socket): Promise<void> {
  socket.on('error', () => undefined).resume();
  if (!socket.destroyed) await once(socket, 'close');
}

const WAYS = {
  'without a certificate': async (port: number) => {
    await requestOnce(port, { identity: undefined, authorities: house.authority.bundle() });
  },
  'with a certificate that was revoked': async (port: number) => {
    await requestOnce(port, { identity: revoked, authorities: house.authority.bundle() });
  },
  'without a handshake': (port: number) => closed(connectTcp(port, '127.0.0.1').end('GET / HTTP/1.1\r\n\r\n')),
} as const;

test.each(Object.entries(WAYS))(
  '%s: after so many, connections from there wait for their handshake',
  async (_way, fail) => {
    await using slow = await slowListener();
    const { port } = slow.listener;
    for (let at = 0; at < FAILURES; at += 1) await fail(port);
    // The listener hears of the last end after whoever made it.
    while (slow.listener.guard.holding > 0) await new Promise(setImmediate);

    const own = connect({ host: '127.0.0.1', port, ...clientTlsOptions(good) });
    let isSecured = false;
    own.once('secureConnect', () => {
      isSecured = true;
    });
    await slow.taken(FAILURES + 1);
    expect([slow.clock.dueTimes().length, isSecured]).toEqual([1, false]);
    // It is not shut out: it waits a moment, and is served like any other.
    await slow.clock.advance(1_000);
    await once(own, 'secureConnect');
    own.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
    expect(String(await once(own, 'data'))).toMatch(/^HTTP\/1\.1 200/);
    own.destroy();
  },
);

test('of those that wait there are few; the others are dropped, and that is told', async () => {
  await using slow = await slowListener();
  const { port } = slow.listener;
  for (let at = 0; at < FAILURES; at += 1) await WAYS['without a handshake'](port);
  await slow.failed(FAILURES);
  const waiting = Array.from({ length: WAITING }, () => connectTcp(port, '127.0.0.1').on('error', () => undefined));
  await slow.taken(FAILURES + WAITING);
  await closed(connectTcp(port, '127.0.0.1'));
  expect([slow.clock.dueTimes().length, slow.listener.ended]).toEqual([WAITING, ['throttled']]);
  for (const socket of waiting) socket.destroy();
});

test('a network from which nobody failed does not wait, and failures are forgotten', () => {
  const clock = { now: () => time, sleep: async () => undefined };
  let time = 0;
  const throttle = createHandshakeThrottle(clock, { failures: 2, refillMs: 100, waitMs: 1, waiting: 0 });
  const gone = new AbortController().signal;
  for (let at = 0; at < 1_000; at += 1) throttle.failed('127.0.0.1');
  expect(['127.9.9.9', '::1', '::ffff:127.0.0.1', '192.0.2.1'].map((from) => throttle.enter(from, gone))).toEqual([
    false,
    false,
    false,
    true,
  ]);
  // However many they were: a flood that is over is forgotten soon.
  time = 300;
  expect(throttle.enter('127.0.0.1', gone)).toBe(true);
});

test('a device renews ten times, right or wrong, and then waits; others renew', async () => {
  await using listener = await listenIn(house);
  const authorities = house.authority.bundle();
  const body = await requestFor(good.key);
  const renew = (identity: TlsIdentity, text: string) =>
    post(listener.port, { identity, authorities, path: RENEWAL_PATH, body: text }).then(({ status }) => status);
  const answers: number[] = [];
  for (let at = 0; at < 12; at += 1) answers.push(await renew(good, at % 2 === 0 ? body : '{"csr":"AAAA"}'));
  expect(answers).toEqual([200, 409, 200, 409, 200, 409, 200, 409, 200, 409, 429, 429]);
  const other = (await house.letIn('other', 'agent')).tls;
  expect(await renew(other, await requestFor(other.key))).toBe(200);
});
