/**
 * T-34: somebody who can reach the pairing port guesses PINs, one after another, all at once, from many addresses, or
 * by looking at our share and leaving before it is known whether the guess was right.
 */
import { connect } from 'node:net';
import { reveal } from '@palyra/primitives';
import { expect, test } from 'vitest';
import { createClearChannel } from '../../packages/identity/src/pairing/open-run.ts';
import { encodeJoinerTerms } from '../../packages/identity/src/pairing/pairing-terms.ts';
import { createFakeClock } from '../../packages/testkit/src/fake-clock.ts';
import {
  codeOf,
  connectInMemory,
  type House,
  inputOf,
  joinInMemory,
  joinOverTls,
  openHouse,
  openTlsHouse,
  wrongPin,
} from './pairing-house.ts';

const AD = encodeJoinerTerms({ name: 'mallory', key: 'a'.repeat(64) as never });
/** The ristretto255 base point: a valid share that needs no computing. */
const SHARE = Buffer.from('e2f2ae0a6abc4e71a884a961c500515f58e30b6aa582dd8db6a65945e08d2d76', 'hex');

/** As far as one guess goes without computing anything: our share is what it is after. */
async function guess(house: House, peer: string, leave: 'after our share' | 'with a wrong proof'): Promise<string> {
  const { device, hosted } = connectInMemory(house, { peer });
  const clear = createClearChannel(device, house.joinDeps);
  try {
    clear.send({ kind: 'hello', versions: [1], nonce: Buffer.alloc(16), means: 'pin' });
    await clear.receive('welcome');
    clear.send({ kind: 'share', share: SHARE, associatedData: AD });
    await clear.receive('share');
    if (leave === 'after our share') return 'seen';
    clear.send({ kind: 'proof', proof: Buffer.alloc(64) });
    await clear.receive('proof');
    return 'in';
  } catch (thrown) {
    return String(Object(thrown).code);
  } finally {
    device.stream.destroy();
    await hosted;
  }
}

test('10,000 guesses from 10,000 addresses see our share five times, and then not even the right PIN helps', async () => {
  const house = await openHouse({ clock: createFakeClock() });
  const invitation = house.invite();
  const answers = new Map<string, number>();
  // Ten thousand refusals, and nobody looks at where they came from.
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 0;
  for (let index = 0; index < 10_000; index += 1) {
    const answer = await guess(house, `10.0.${index >> 8}.${index & 255}`, 'with a wrong proof');
    answers.set(answer, (answers.get(answer) ?? 0) + 1);
  }
  Error.stackTraceLimit = stackTraceLimit;
  expect([...answers]).toEqual([
    ['pairing.wrong_pin', 5],
    ['pairing.burnt', 9_995],
  ]);
  expect(await codeOf(joinInMemory(house, inputOf(reveal(invitation.pin)), '192.0.2.9'))).toBe('pairing.burnt');
  expect([house.tries(), house.ca.requests, await invitation.ended]).toEqual([5, [], { kind: 'burnt' }]);
});

test('a try is counted when our share goes out: leaving then does not save it', async () => {
  const house = await openHouse({ clock: createFakeClock() });
  const invitation = house.invite();
  for (let index = 0; index < 5; index += 1)
    expect(await guess(house, `10.1.0.${index}`, 'after our share')).toBe('seen');
  expect(await guess(house, '10.1.1.1', 'after our share')).toBe('pairing.burnt');
  expect(await invitation.ended).toEqual({ kind: 'burnt' });
});

test('twenty guesses at once see our share five times', async () => {
  const house = await openHouse({ clock: createFakeClock() });
  house.invite();
  const guesses = Array.from({ length: 20 }, (_, index) => guess(house, `10.2.0.${index}`, 'after our share'));
  const seen = (await Promise.all(guesses)).filter((answer) => answer === 'seen');
  expect([seen.length, house.tries()]).toEqual([5, 5]);
});

test('wrong PINs over real TLS burn the invitation, and the one who knows it comes too late', async () => {
  const clock = createFakeClock(Date.now());
  const house = await openTlsHouse({ clock });
  try {
    const invitation = house.invite();
    const answers: string[] = [];
    for (let index = 1; index <= 5; index += 1) {
      answers.push(await codeOf(joinOverTls(house, inputOf(wrongPin(invitation, index)))));
      await clock.advance(60_000);
    }
    answers.push(await codeOf(joinOverTls(house, inputOf(reveal(invitation.pin)))));
    expect(answers).toEqual([...Array<string>(5).fill('pairing.wrong_pin'), 'pairing.burnt']);
    expect([house.tries(), house.ca.requests]).toEqual([5, []]);
  } finally {
    await house.listener.close();
  }
});

test('a peer that failed waits, twice as long each time, and its address does not wash off', async () => {
  const clock = createFakeClock();
  const house = await openHouse({ clock });
  const waits: number[] = [];
  for (let index = 0; index < 4; index += 1) {
    house.invite({ name: `device ${index}` });
    const [{ id } = { id: '' }] = house.book.list();
    expect(await guess(house, index % 2 === 0 ? '2001:db8::1' : '2001:db8::2', 'with a wrong proof')).toBe(
      'pairing.wrong_pin',
    );
    house.book.cancel(id);
    waits.push(house.host.backOff.waitFor('2001:db8:0:0:ffff::3'));
    expect(await guess(house, '2001:db8::1', 'with a wrong proof')).toBe('pairing.slow_down');
    await clock.advance(60_000);
  }
  expect(waits).toEqual([1_000, 2_000, 4_000, 8_000]);
});

test('a peer that refuses us with our own words has failed like any other', async () => {
  const house = await openHouse({ clock: createFakeClock() });
  house.invite();
  const { device, hosted } = connectInMemory(house);
  const clear = createClearChannel(device, house.joinDeps);
  clear.send({ kind: 'hello', versions: [1], nonce: Buffer.alloc(16), means: 'pin' });
  await clear.receive('welcome');
  clear.send({ kind: 'share', share: SHARE, associatedData: AD });
  await clear.receive('share');
  clear.refuse({ code: 'pairing.slow_down', retryAfterMs: 1 });
  await hosted;
  expect(house.host.backOff.waitFor('192.0.2.1')).toBe(1_000);
});

test('many peers together make everybody wait, whatever the invitation', async () => {
  const house = await openHouse({ clock: createFakeClock() });
  let tried = 0;
  for (let round = 0; round < 40; round += 1) {
    const { id } = house.invite();
    tried += (await guess(house, `10.3.0.${round}`, 'with a wrong proof')) === 'pairing.wrong_pin' ? 1 : 0;
    house.book.cancel(id);
  }
  expect(tried).toBe(11);
});

test.each([
  ['one address', () => '127.0.0.1'],
  ['all of its own', (index: number) => `127.0.${index}.1`],
])('one peer has four connections, from %s, and the fifth is closed at once', async (_what, addressOf) => {
  const house = await openTlsHouse();
  const sockets = Array.from({ length: 5 }, (_, index) =>
    connect({ port: house.listener.port, host: '127.0.0.1', localAddress: addressOf(index) }).on(
      'error',
      () => undefined,
    ),
  );
  try {
    // Which of the five the host accepts last is the kernel's business.
    await Promise.race(sockets.map((socket) => new Promise((resolve) => socket.on('close', resolve))));
    expect(sockets.filter((socket) => socket.closed).length).toBe(1);
  } finally {
    for (const socket of sockets) socket.destroy();
    await house.listener.close();
  }
});
