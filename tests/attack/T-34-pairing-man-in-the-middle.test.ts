/**
 * T-34: somebody between the device and the host relays, replays, swaps or changes what they say, poses as the host
 * without knowing the PIN, or puts an early share on the wire that needs no secret.
 */
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { type Duplex, duplexPair } from 'node:stream';
import { connect, createServer, type TLSSocket } from 'node:tls';
import { reveal, secureRandomBytes } from '@palyra/primitives';
import { expect, test } from 'vitest';
import { joinPairing } from '../../packages/identity/src/pairing/join-pairing.ts';
import { createClearChannel } from '../../packages/identity/src/pairing/open-run.ts';
import { encodeHostTerms, encodeJoinerTerms } from '../../packages/identity/src/pairing/pairing-terms.ts';
import { createFakeClock } from '../../packages/testkit/src/fake-clock.ts';
import {
  codeOf,
  connectInMemory,
  EXPORTER,
  type House,
  inputOf,
  joinInMemory,
  joinOverTls,
  openHouse,
  openTlsHouse,
  type Wire,
} from './pairing-house.ts';
import { createThrowawayCa } from './throwaway-ca.ts';

const BASE = Buffer.from('e2f2ae0a6abc4e71a884a961c500515f58e30b6aa582dd8db6a65945e08d2d76', 'hex');

interface Tapped {
  readonly wire: Wire;
  /** Frames as the device sent them, without their length. */
  readonly fromDevice: Buffer[];
}

type Change = (frame: Buffer, index: number) => readonly Uint8Array[];
const asIs: Change = (frame) => [frame];

/** A wire in somebody else's hands: every frame goes through `change` before it goes on. */
function tapped(house: House, change: { readonly up?: Change; readonly down?: Change } = {}): Tapped {
  const { device: toHost, hosted } = connectInMemory(house);
  const [device, tap] = duplexPair();
  const fromDevice: Buffer[] = [];
  pump(tap, toHost.stream, (frame, index) => {
    fromDevice.push(frame);
    return (change.up ?? asIs)(frame, index);
  });
  pump(toHost.stream, tap, change.down ?? asIs);
  return { wire: { device: { stream: device, exporter: EXPORTER, peer: 'host' }, hosted }, fromDevice };
}

function pump(from: Duplex, to: Duplex, change: Change): void {
  let buffered = Buffer.alloc(0);
  let index = 0;
  from.on('data', (chunk: Buffer) => {
    buffered = Buffer.concat([buffered, chunk]);
    while (buffered.length >= 4 && buffered.length >= 4 + buffered.readUInt32BE()) {
      const length = buffered.readUInt32BE();
      const frame = buffered.subarray(4, 4 + length);
      buffered = buffered.subarray(4 + length);
      for (const out of change(frame, index)) to.write(framed(out));
      index += 1;
    }
  });
  from.on('end', () => to.end());
  from.on('error', () => to.destroy());
}

function framed(payload: Uint8Array): Buffer {
  const header = Buffer.alloc(4);
  header.writeUInt32BE(payload.length);
  return Buffer.concat([header, payload]);
}

async function joinThrough(house: House, { wire }: Tapped, pin: string): Promise<string> {
  try {
    return await codeOf(joinPairing(wire.device, inputOf(pin), house.joinDeps));
  } finally {
    wire.device.stream.destroy();
    await wire.hosted;
  }
}

test('the tap itself does no harm: unchanged, the pairing succeeds', async () => {
  const house = await openHouse();
  const { pin } = house.invite();
  expect(await joinThrough(house, tapped(house), reveal(pin))).toBe('nothing went wrong');
});

test('a relay with a TLS certificate of its own gets nowhere, though it passes every byte on', async () => {
  const house = await openTlsHouse();
  const { certificatePem: cert, privateKeyPem: key } = await (await createThrowawayCa(Date.now)).listenerCredential();
  const sockets: TLSSocket[] = [];
  const relay = createServer({ cert, key, ALPNProtocols: ['palyra-pairing'] }, (front) => {
    const to = { host: '127.0.0.1', port: house.listener.port, rejectUnauthorized: false };
    const back = connect({ ...to, ALPNProtocols: ['palyra-pairing'] });
    for (const socket of [front, back]) socket.on('error', () => undefined);
    sockets.push(front, back);
    front.pipe(back).pipe(front);
  });
  relay.listen(0, '127.0.0.1');
  await once(relay, 'listening');
  try {
    const { pin } = house.invite();
    const { port } = relay.address() as AddressInfo;
    expect(await codeOf(joinOverTls(house, inputOf(reveal(pin)), port))).toBe('pairing.wrong_pin');
    expect([house.tries(), house.ca.requests]).toEqual([1, []]);
  } finally {
    for (const socket of sockets) socket.destroy();
    relay.close();
    await house.listener.close();
  }
});

test('a host that does not know the PIN is found out before it gets the request', async () => {
  const house = await openHouse();
  const [device, stream] = duplexPair();
  const clear = createClearChannel({ stream, exporter: EXPORTER, peer: 'device' }, house.joinDeps);
  const joining = codeOf(
    joinPairing({ stream: device, exporter: EXPORTER, peer: 'host' }, inputOf('12345678'), house.joinDeps),
  );
  await clear.receive('hello');
  clear.send({ kind: 'welcome', version: 1, nonce: Buffer.alloc(16) });
  await clear.receive('share');
  const terms = encodeHostTerms({ ca: house.ca.ca, kind: 'agent', name: 'runner', time: Date.now() });
  clear.send({ kind: 'share', share: BASE, associatedData: terms });
  await clear.receive('proof');
  clear.send({ kind: 'proof', proof: Buffer.alloc(64) });
  expect(await joining).toBe('pairing.host_not_proven');
  expect(await codeOf(clear.receiveBytes())).toBe('pairing.closed');
});

test('a host with another CA than the join URL names is refused before the device proves anything', async () => {
  const house = await openHouse();
  const { code, id } = house.invite();
  const other = 'f'.repeat(64) as typeof house.ca.ca;
  const input = { ...inputOf(reveal(code)), means: 'code', invitation: id } as const;
  expect(await codeOf(joinInMemory(house, { ...input, ca: other }))).toBe('pairing.other_ca');
  expect(house.progress.map(({ kind }) => kind)).toEqual(['connected', 'trying', 'dropped']);
});

test('the code of the URL is not taken for a PIN, nor the PIN for the code', async () => {
  const house = await openHouse();
  const { code, pin, id } = house.invite();
  expect(await codeOf(joinInMemory(house, inputOf(reveal(code))))).toBe('pairing.wrong_pin');
  const swapped = { ...inputOf(reveal(pin)), means: 'code', invitation: id } as const;
  expect(await codeOf(joinInMemory(house, swapped, '192.0.2.2'))).toBe('pairing.wrong_pin');
});

test('what was recorded in one run opens no other, though the PIN is the same', async () => {
  // Randomness that repeats itself for PINs only: the nonce of a run has 16 bytes, a scalar 32.
  const samePin = (length: number) => (length === 4 ? Uint8Array.of(0, 0, 1, 2) : secureRandomBytes(length));
  // Nor does the time help, which is part of what the host says.
  const house = await openHouse({ randomBytes: samePin, clock: createFakeClock(Date.now()) });
  const first = house.invite();
  const recording = tapped(house);
  expect(await joinThrough(house, recording, reveal(first.pin))).toBe('nothing went wrong');

  const second = house.invite();
  expect(reveal(second.pin)).toBe(reveal(first.pin));
  const { device, hosted } = connectInMemory(house);
  for (const frame of recording.fromDevice) device.stream.write(framed(frame));
  await hosted;
  device.stream.destroy();
  expect(house.progress.at(-1)).toMatchObject({ kind: 'dropped', error: { code: 'pairing.wrong_pin' } });
  expect(house.ca.requests.length).toBe(1);
});

test.each<[string, Uint8Array]>([
  ['the identity', Buffer.alloc(32)],
  ['no element of the group', Buffer.from('2b3c6b8c4f3800e7aef6864025b4ed79bd599117e427c41bd47d93d654b4a51c', 'hex')],
  ['an element in another spelling', Buffer.alloc(32, 0xff)],
])('a share that is %s is refused on both sides', async (_what, share) => {
  const house = await openHouse();
  const { pin } = house.invite();
  const forge =
    (kind: string): Change =>
    (frame) => {
      const fields = JSON.parse(frame.toString());
      return [
        fields.kind === kind
          ? Buffer.from(JSON.stringify({ ...fields, share: Buffer.from(share).toString('base64url') }))
          : frame,
      ];
    };
  const toHost = { up: once1(forge('share')) };
  expect(await joinThrough(house, tapped(house, toHost), reveal(pin))).toBe('pairing.protocol');
  house.host.backOff.succeeded('192.0.2.1');
  const toDevice = { down: once1(forge('share')) };
  expect(await joinThrough(house, tapped(house, toDevice), reveal(pin))).toBe('pairing.protocol');
  expect([house.ca.requests, house.progress.some(({ kind }) => kind === 'proven')]).toEqual([[], false]);
});

/** The frames in the clear only. */
function once1(change: Change): Change {
  return (frame, index) => (index < 3 ? change(frame, index) : [frame]);
}

test("the device's own share and proof sent back to it do not make a host", async () => {
  const house = await openHouse();
  const [device, stream] = duplexPair();
  const clear = createClearChannel({ stream, exporter: EXPORTER, peer: 'device' }, house.joinDeps);
  const joining = codeOf(
    joinPairing({ stream: device, exporter: EXPORTER, peer: 'host' }, inputOf('12345678'), house.joinDeps),
  );
  await clear.receive('hello');
  clear.send({ kind: 'welcome', version: 1, nonce: Buffer.alloc(16) });
  const { share } = await clear.receive('share');
  const terms = encodeHostTerms({ ca: house.ca.ca, kind: 'agent', name: 'runner', time: Date.now() });
  clear.send({ kind: 'share', share, associatedData: terms });
  expect(await joining).toBe('pairing.protocol');
});

test.each(['name', 'kind', 'ca', 'time'])('a changed %s in what the host says leads to no key', async (field) => {
  const house = await openHouse();
  const { pin } = house.invite();
  const down: Change = (frame, index) => {
    if (index !== 1) return [frame];
    const fields = JSON.parse(frame.toString());
    const terms = JSON.parse(Buffer.from(fields.associatedData, 'base64url').toString());
    const other = { name: 'other', kind: 'operator', ca: 'e'.repeat(64), time: 5 }[field];
    const forged = { ...terms, [field]: other };
    return [
      Buffer.from(
        JSON.stringify({ ...fields, associatedData: Buffer.from(JSON.stringify(forged)).toString('base64url') }),
      ),
    ];
  };
  expect(await joinThrough(house, tapped(house, { down }), reveal(pin))).toBe('pairing.wrong_pin');
});

test.each<[string, Change]>([
  ['repeated', (frame, index) => (index === 3 ? [frame, frame] : [frame])],
  ['left out', (frame, index) => (index === 2 ? [] : [frame])],
  ['changed in one bit', (frame, index) => (index === 3 ? [flip(frame)] : [frame])],
  ['cut short', (frame, index) => (index === 3 ? [frame.subarray(0, 12)] : [frame])],
])('a message to the host that is %s ends the run, and nothing is issued before it', async (_what, up) => {
  const house = await openHouse({ confirm: () => new Promise(() => undefined) });
  const { pin } = house.invite();
  const { wire } = tapped(house, { up: (frame, index) => (index === 4 ? [] : up(frame, index)) });
  const joining = codeOf(joinPairing(wire.device, inputOf(reveal(pin)), house.joinDeps));
  if (_what === 'repeated' || _what === 'left out') wire.device.stream.end();
  expect(await joining).toMatch(/^pairing\.(?:protocol|closed)$/);
  wire.device.stream.destroy();
  await wire.hosted;
  expect(house.ca.requests).toEqual([]);
});

function flip(frame: Buffer): Buffer {
  const changed = Buffer.from(frame);
  changed[0] = (changed[0] ?? 0) ^ 1;
  return changed;
}

test.each<[string, number, number]>([
  ['proof before share', 1, 2],
  ['share before hello', 0, 1],
])('messages in another order are refused: %s', async (_what, first, second) => {
  const house = await openHouse();
  const recording = tapped(house);
  expect(await joinThrough(house, recording, reveal(house.invite().pin))).toBe('nothing went wrong');
  house.invite();
  const frames = [...recording.fromDevice];
  [frames[first], frames[second]] = [frames[second] as Buffer, frames[first] as Buffer];
  const { device, hosted } = connectInMemory(house);
  for (const frame of frames) device.stream.write(framed(frame));
  await hosted;
  device.stream.destroy();
  expect(house.progress.at(-1)).toMatchObject({ kind: 'dropped', error: { code: 'pairing.protocol' } });
});

test('a device that says it is the host is refused', async () => {
  const house = await openHouse();
  house.invite();
  const { device, hosted } = connectInMemory(house);
  const clear = createClearChannel(device, house.joinDeps);
  clear.send({ kind: 'hello', versions: [1], nonce: Buffer.alloc(16), means: 'pin' });
  await clear.receive('welcome');
  const joiner = JSON.parse(Buffer.from(encodeJoinerTerms({ name: 'x', key: house.ca.ca })).toString());
  clear.send({ kind: 'share', share: BASE, associatedData: Buffer.from(JSON.stringify({ ...joiner, role: 'host' })) });
  expect(await codeOf(clear.receive('share'))).toBe('pairing.protocol');
  device.stream.destroy();
  await hosted;
  expect(house.tries()).toBe(0);
});

test('whoever talks of a later version only is told which one is spoken', async () => {
  const house = await openHouse();
  house.invite();
  const { device, hosted } = connectInMemory(house);
  device.stream.write(framed(Buffer.from('{"kind":"hello","versions":[2,3],"brand":"new"}')));
  const clear = createClearChannel(device, house.joinDeps);
  await expect(clear.receive('welcome')).rejects.toMatchObject({
    code: 'pairing.version_mismatch',
    message: 'The other side speaks another version of the pairing protocol. It speaks 1.',
  });
  device.stream.destroy();
  await hosted;
});

test('a hello that was changed on the way, to force another version or means, leads to no key', async () => {
  const house = await openHouse();
  const { pin } = house.invite();
  const up: Change = (frame, index) =>
    index === 0 ? [Buffer.from(JSON.stringify({ ...JSON.parse(frame.toString()), versions: [1, 2] }))] : [frame];
  expect(await joinThrough(house, tapped(house, { up }), reveal(pin))).toBe('pairing.wrong_pin');
});

test('secrets do not show where values are printed', () => {
  expect(JSON.stringify(inputOf('12345678'))).not.toContain('12345678');
});
