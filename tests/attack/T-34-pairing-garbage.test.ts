/**
 * T-34: the pairing port is fed with garbage, with frames that are too long, too many or never end, and with connections
 * that say nothing, to get in, to bring the host down, or to keep others out.
 */
import { once } from 'node:events';
import { connect as connectTcp } from 'node:net';
import { connect, createServer as createTlsServer } from 'node:tls';
import { reveal } from '@palyra/primitives';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { joinPairing } from '../../packages/identity/src/pairing/join-pairing.ts';
import { publicKeyOfRequest } from '../../packages/identity/src/pairing/request-key.ts';
import { createFakeClock } from '../../packages/testkit/src/fake-clock.ts';
import { codeOf, connectInMemory, inputOf, joinOverTls, openHouse, openTlsHouse } from './pairing-house.ts';

const GARBAGE: readonly [string, Buffer][] = [
  ['HTTP', Buffer.from('GET / HTTP/1.1\r\nHost: x\r\n\r\n')],
  ['a frame of nothing', Buffer.alloc(4)],
  ['a frame of 4 GiB', Buffer.from('ffffffff00', 'hex')],
  ['a frame one byte too long', frame(Buffer.alloc(2_049, 0x20))],
  ['no JSON', frame(Buffer.from('hello'))],
  ['no UTF-8', frame(Buffer.from('ff00ff00', 'hex'))],
  ['a list', frame(Buffer.from('[]'))],
  ['a hello with two kinds', frame(Buffer.from('{"kind":"hello","kind":"hello"}'))],
  ['a hello without a nonce', frame(Buffer.from('{"kind":"hello","versions":[1],"means":"pin"}'))],
  ['versions that are none', frame(Buffer.from('{"kind":"hello","versions":[1.5,-1,null]}'))],
  ['a thousand versions', frame(Buffer.from(`{"kind":"hello","versions":[${'1,'.repeat(899)}1]}`))],
  ['deep JSON', frame(Buffer.from('['.repeat(1_000)))],
  ['an inherited name', frame(Buffer.from('{"kind":"constructor"}'))],
];

function frame(payload: Buffer): Buffer {
  const header = Buffer.alloc(4);
  header.writeUInt32BE(payload.length);
  return Buffer.concat([header, payload]);
}

test.each(GARBAGE)('%s is refused, and no try is spent', async (_what, bytes) => {
  const house = await openHouse({ clock: createFakeClock() });
  house.invite();
  const { device, hosted } = connectInMemory(house);
  device.stream.write(bytes);
  await hosted;
  device.stream.destroy();
  expect(house.progress.at(-1)).toMatchObject({ kind: 'dropped', error: { code: 'pairing.protocol' } });
  expect([house.tries(), house.book.list()[0]?.triesLeft]).toEqual([0, 5]);
});

test('whatever bytes come, the host neither throws nor spends a try', async () => {
  const house = await openHouse({ clock: createFakeClock() });
  house.invite();
  let peer = 0;
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.uint8Array({ maxLength: 200 }), { maxLength: 4 }),
      fc.boolean(),
      async (chunks, framed) => {
        peer += 1;
        const { device, hosted } = connectInMemory(house, { peer: `10.9.0.${peer}` });
        for (const chunk of chunks) device.stream.write(framed ? frame(Buffer.from(chunk)) : chunk);
        device.stream.end();
        await hosted;
        device.stream.destroy();
      },
    ),
    { numRuns: 200 },
  );
  expect(house.tries()).toBe(0);
});

test('whatever bytes come as a request, there is a key in it or a refusal', () => {
  const read = (bytes: Uint8Array): string => {
    try {
      publicKeyOfRequest(bytes);
      return 'a key';
    } catch (thrown) {
      return String(Object(thrown).code);
    }
  };
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 60 }), (bytes) => {
      expect(['a key', 'pairing.protocol']).toContain(read(bytes));
    }),
  );
});

test('a flood nobody asked for is cut off while little of it is held', async () => {
  const flooded = Promise.withResolvers<void>();
  const confirm = async () => {
    await flooded.promise;
    return 'confirmed' as const;
  };
  const house = await openHouse({ clock: createFakeClock(Date.now()), confirm });
  const { pin } = house.invite();
  const { device, hosted } = connectInMemory(house);
  const flood = () => void device.stream.write(Buffer.alloc(100_000), () => flooded.resolve());
  const onProgress = ({ kind }: { readonly kind: string }) => void (kind === 'asking' && flood());
  const joining = codeOf(joinPairing(device, inputOf(reveal(pin)), { ...house.joinDeps, onProgress }));
  await hosted;
  device.stream.destroy();
  expect([await joining, house.ca.requests]).toEqual(['pairing.closed', []]);
});

test('a connection that says nothing is dropped at its deadline, in every step', async () => {
  const clock = createFakeClock();
  const house = await openHouse({ clock });
  house.invite();
  const silent = connectInMemory(house);
  await clock.advance(10_000);
  await silent.hosted;

  const half = connectInMemory(house, { peer: '192.0.2.2' });
  half.device.stream.write(Buffer.from('000001', 'hex'));
  await clock.advance(10_000);
  await half.hosted;
  for (const { device } of [silent, half]) device.stream.destroy();
  const dropped = house.progress.filter((event) => event.kind === 'dropped').map(({ error }) => error.code);
  expect(dropped).toEqual(['pairing.timed_out', 'pairing.timed_out']);
});

test('a device that proves itself and then falls silent, or goes, leaves nothing behind', async () => {
  const clock = createFakeClock(Date.now());
  const asked: AbortSignal[] = [];
  const house = await openHouse({
    clock,
    confirm: (_request, signal) => {
      asked.push(signal);
      return new Promise(() => undefined);
    },
  });
  const { pin, ended } = house.invite();
  const { device, hosted } = connectInMemory(house);
  const joining = codeOf(
    joinPairing(device, inputOf(reveal(pin)), {
      ...house.joinDeps,
      onProgress: ({ kind }) => void (kind === 'asking' && device.stream.destroy()),
    }),
  );
  expect(await joining).toBe('pairing.closed');
  await hosted;
  expect(asked.map(({ aborted }) => aborted)).toEqual([true]);
  expect(await ended).toMatchObject({ kind: 'failed', error: { code: 'pairing.closed' } });
  expect(house.ca.requests).toEqual([]);
});

test('after garbage, plain TCP, other TLS clients and half-open handshakes the listener still serves', async () => {
  const house = await openTlsHouse({ handshakeMs: 150 });
  const { port } = house.listener;
  try {
    const silent = connectTcp(port, '127.0.0.1').on('error', () => undefined);
    const plain = connectTcp(port, '127.0.0.1', () => plain.write('GET / HTTP/1.1\r\n\r\n')).on(
      'error',
      () => undefined,
    );
    const stranger = connect({ port, host: '127.0.0.1', rejectUnauthorized: false }).on('error', () => undefined);
    const modest = { rejectUnauthorized: false, maxVersion: 'TLSv1.2', ALPNProtocols: ['palyra-pairing'] } as const;
    const old = connect({ port, host: '127.0.0.1', ...modest }).on('error', () => undefined);
    let spokeOld = false;
    old.on('secureConnect', () => {
      spokeOld = true;
      old.end();
    });
    // All four are shown out by the host: nobody here closes anything that it did not let in.
    await Promise.all(
      [silent, plain, stranger, old].map((socket) => new Promise((resolve) => socket.resume().on('close', resolve))),
    );
    expect(spokeOld).toBe(false);
    const { pin } = house.invite();
    expect(
      await joinOverTls(
        { ...house, joinDeps: { ...house.joinDeps, deadlines: { ...house.joinDeps.deadlines, handshakeMs: 5_000 } } },
        inputOf(reveal(pin)),
      ),
    ).toMatchObject({ kind: 'agent', name: 'runner' });
  } finally {
    await house.listener.close();
  }
});

test('what is not a pairing listener is told from one that is not there', async () => {
  const house = await openTlsHouse();
  const server = await import('node:http').then(({ createServer }) => createServer().listen(0, '127.0.0.1'));
  await once(server, 'listening');
  const { port } = Object(server.address());
  expect(await codeOf(joinOverTls(house, inputOf('12345678'), port))).toBe('pairing.not_our_listener');
  server.close();
  await house.listener.close();
  expect(await codeOf(joinOverTls(house, inputOf('12345678')))).toBe('pairing.unreachable');
});

test('a device does not speak TLS 1.2, whose channel binding is weaker', async () => {
  const house = await openTlsHouse();
  const { certificatePem: cert, privateKeyPem: key } = await house.ca.listenerCredential();
  const greeted: unknown[] = [];
  const server = createTlsServer({ cert, key, maxVersion: 'TLSv1.2', ALPNProtocols: ['palyra-pairing'] }, (socket) => {
    greeted.push(socket.getProtocol());
    socket.destroy();
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = Object(server.address());
  expect(await codeOf(joinOverTls(house, inputOf('12345678'), port))).toBe('pairing.not_our_listener');
  expect(greeted).toEqual([]);
  server.close();
  await house.listener.close();
});
