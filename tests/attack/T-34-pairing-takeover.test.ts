/**
 * T-34: whoever has the PIN, or had it, takes more than the one certificate that it is good for: a second one, one after
 * the invitation has ended, one of another kind, for another key, with rights, under the id of a device that is known, or
 * under a name that is shown as another.
 */

import { makeRequest, type PairingRequest, shownName } from '@palyra/identity';
import { createIdSource, reveal, sha256Hex } from '@palyra/primitives';
import { expect, test } from 'vitest';
import { startCpace } from '../../packages/identity/src/pairing/cpace.ts';
import { createClearChannel } from '../../packages/identity/src/pairing/open-run.ts';
import { channelIdentifier, encodeJoinerTerms, pakeSecret } from '../../packages/identity/src/pairing/pairing-terms.ts';
import { createSealedChannel } from '../../packages/identity/src/pairing/sealed-channel.ts';
import { createFakeClock } from '../../packages/testkit/src/fake-clock.ts';
import { codeOf, connectInMemory, EXPORTER, type House, inputOf, joinInMemory, openHouse } from './pairing-house.ts';

const DEVICE = createIdSource().newId('device');

interface Conduct {
  readonly say: (request: Buffer) => Record<string, unknown>;
  readonly beforeProof?: () => Promise<void>;
}

/** A device that knows the PIN and then does not keep to the protocol. */
async function proveAndThen(
  house: House,
  pin: string,
  { say, beforeProof = async () => undefined }: Conduct,
): Promise<string> {
  const { csrDer, publicKeySpkiDer } = await makeRequest();
  const { device, hosted } = connectInMemory(house);
  const clear = createClearChannel(device, house.joinDeps);
  try {
    const nonce = Buffer.alloc(16, 1);
    const hello = clear.send({ kind: 'hello', versions: [1], nonce, means: 'pin' });
    const welcome = await clear.receiveBytes();
    const session = Buffer.concat([nonce, Buffer.from(JSON.parse(welcome.toString()).nonce, 'base64url')]);
    const channel = channelIdentifier({ exporter: EXPORTER, hello, welcome });
    const associatedData = encodeJoinerTerms({ name: 'mallory', key: sha256Hex(publicKeySpkiDer) });
    const inputs = { secret: pakeSecret('pin', pin), channel, session };
    const run = startCpace({ role: 'initiator', inputs, associatedData, randomBytes: house.joinDeps.randomBytes });
    clear.send({ kind: 'share', ...run.message });
    const key = run.finish(await clear.receive('share'));
    await beforeProof();
    clear.send({ kind: 'proof', proof: key?.proof as Uint8Array });
    await clear.receive('proof');
    const sealed = createSealedChannel(clear.frames, {
      role: 'joiner',
      key: key?.key as Uint8Array,
      session,
    });
    sealed.send(say(Buffer.from(csrDer)) as never);
    await sealed.receive('asking', 1_000);
    return 'asked';
  } catch (thrown) {
    return String(Object(thrown).code);
  } finally {
    device.stream.destroy();
    await hosted;
  }
}

test('an honest device gets a certificate for its own key, of the kind and name of the invitation, and nothing more', async () => {
  const house = await openHouse();
  const joined = await joinInMemory(house, inputOf(reveal(house.invite().pin)));
  expect(joined).toMatchObject({ kind: 'agent', name: 'runner', ca: house.ca.ca });
  expect(Object.keys(joined).toSorted()).toEqual([
    'ca',
    'caPem',
    'certificatePem',
    'device',
    'kind',
    'name',
    'privateKeyPem',
  ]);
  const asked = house.ca.requests.map(({ csrDer: _csr, ...others }) => others);
  expect(asked).toEqual([{ kind: 'agent', name: 'runner', address: '192.0.2.1' }]);
});

test.each<[string, Record<string, unknown>]>([
  ['roles', { roles: ['admin'] }],
  ['another name', { name: 'somebody' }],
  ['a device id', { device: DEVICE }],
])('a request that also asks for %s is refused', async (_what, extra) => {
  const house = await openHouse();
  const say = (csr: Buffer) => ({ kind: 'request', csr, ...extra });
  expect(await proveAndThen(house, reveal(house.invite().pin), { say })).toBe('pairing.protocol');
  expect(house.ca.requests).toEqual([]);
});

test('a request for another key than the one agreed on is refused before the operator is asked', async () => {
  const house = await openHouse();
  const { csrDer } = await makeRequest();
  expect(await proveAndThen(house, reveal(house.invite().pin), { say: () => ({ kind: 'request', csr: csrDer }) })).toBe(
    'pairing.protocol',
  );
  const padded = (csr: Buffer) => ({ kind: 'request', csr: Buffer.concat([csr, csrDer]) });
  expect(await proveAndThen(house, reveal(house.invite().pin), { say: padded })).toBe('pairing.protocol');
  expect(house.ca.requests).toEqual([]);
});

test('the certificate cannot be had without asking: whoever says done first is refused', async () => {
  const house = await openHouse();
  expect(await proveAndThen(house, reveal(house.invite().pin), { say: () => ({ kind: 'done' }) })).toBe(
    'pairing.protocol',
  );
});

test('an invitation is good for one device, also of two whose tries are under way at once', async () => {
  const house = await openHouse();
  const { pin } = house.invite();
  const both = Promise.withResolvers<void>();
  let ready = 0;
  const beforeProof = async () => {
    ready += 1;
    if (ready === 2) both.resolve();
    await both.promise;
  };
  const say = (csr: Buffer) => ({ kind: 'request', csr });
  const outcomes = await Promise.all([0, 1].map(() => proveAndThen(house, reveal(pin), { say, beforeProof })));
  expect([outcomes.toSorted(), house.tries()]).toEqual([['asked', 'pairing.used'], 2]);
});

test('a used invitation lets nobody in any more', async () => {
  const house = await openHouse();
  const { pin, ended } = house.invite();
  await joinInMemory(house, inputOf(reveal(pin)));
  expect(await codeOf(joinInMemory(house, inputOf(reveal(pin)), '192.0.2.3'))).toBe('pairing.used');
  expect([house.ca.requests.length, (await ended).kind]).toEqual([1, 'paired']);
});

test('an invitation that has expired or was cancelled lets nobody in', async () => {
  const clock = createFakeClock(Date.now());
  const house = await openHouse({ clock });
  const [late, gone] = [house.invite(), house.invite({ name: 'other' })];
  expect(house.book.cancel(gone.id)).toBe(true);
  const named = (invitation: typeof late) => inputOf(reveal(invitation.pin), { invitation: invitation.id });
  expect(await codeOf(joinInMemory(house, named(gone)))).toBe('pairing.cancelled');
  await clock.advance(10 * 60_000);
  expect(await codeOf(joinInMemory(house, named(late)))).toBe('pairing.expired');
  expect([await late.ended, await gone.ended]).toEqual([{ kind: 'expired' }, { kind: 'cancelled' }]);
  expect(house.ca.requests).toEqual([]);
});

test('an invitation that expires between the share and the proof lets nobody in', async () => {
  let now = Date.now();
  const house = await openHouse({ clock: { ...createFakeClock(), now: () => now } });
  const { pin, expiresAt } = house.invite();
  // The host says that a try has begun after it has looked at the clock, and before the device can prove anything.
  const onProgress: typeof house.host.onProgress = (event) => {
    house.host.onProgress(event);
    if (event.kind === 'trying') now = expiresAt;
  };
  const late = { ...house, host: { ...house.host, onProgress } };
  expect(await codeOf(joinInMemory(late, inputOf(reveal(pin))))).toBe('pairing.expired');
  expect(house.ca.requests).toEqual([]);
});

test('several invitations and none named: nobody guesses which', async () => {
  const house = await openHouse();
  const [first] = [house.invite(), house.invite({ name: 'other' })];
  expect(await codeOf(joinInMemory(house, inputOf(reveal(first.pin))))).toBe('pairing.several_invitations');
});

test('without the operator nothing is issued: refused, or not answered in time', async () => {
  const clock = createFakeClock(Date.now());
  const refusing = await openHouse({ confirm: async () => 'refused' });
  const { pin, ended } = refusing.invite();
  expect(await codeOf(joinInMemory(refusing, inputOf(reveal(pin))))).toBe('pairing.refused');
  expect(await ended).toMatchObject({ kind: 'failed', error: { code: 'pairing.refused' } });

  const asked = Promise.withResolvers<void>();
  const silent = await openHouse({
    clock,
    confirm: () => {
      asked.resolve();
      return new Promise(() => undefined);
    },
  });
  const waiting = codeOf(joinInMemory(silent, inputOf(reveal(silent.invite().pin))));
  await asked.promise;
  await clock.advance(120_000);
  expect(await waiting).toBe('pairing.not_confirmed');
  expect([refusing.ca.requests, silent.ca.requests]).toEqual([[], []]);
});

test('a device that claims a known id with another key is refused, and taken when the operator asked for it', async () => {
  const house = await openHouse({
    findDevice: async (id) => (id === DEVICE ? { key: 'a'.repeat(64) as never, kind: 'agent' } : undefined),
  });
  const claim = inputOf(reveal(house.invite().pin), { device: DEVICE });
  expect(await codeOf(joinInMemory(house, claim))).toBe('pairing.device_known');
  expect(house.ca.requests).toEqual([]);

  const { pin } = house.invite({ replaces: DEVICE });
  expect(await joinInMemory(house, inputOf(reveal(pin)))).toMatchObject({ device: DEVICE });
  const stranger = createIdSource().newId('device');
  const fresh = await joinInMemory(house, inputOf(reveal(house.invite().pin), { device: stranger }));
  expect(fresh.device).not.toBe(stranger);
});

test('a device that comes back with its own key keeps its id', async () => {
  const request = await makeRequest();
  const house = await openHouse({
    findDevice: async () => ({ key: sha256Hex(request.publicKeySpkiDer), kind: 'agent' }),
  });
  const same = { ...house, joinDeps: { ...house.joinDeps, makeRequest: async () => request } };
  expect(await joinInMemory(same, inputOf(reveal(house.invite().pin), { device: DEVICE }))).toMatchObject({
    device: DEVICE,
  });
});

test('a device of one kind does not come back on an invitation for another', async () => {
  const request = await makeRequest();
  const asked: PairingRequest[] = [];
  const house = await openHouse({
    findDevice: async () => ({ key: sha256Hex(request.publicKeySpkiDer), kind: 'operator' }),
    confirm: async (shown) => {
      asked.push(shown);
      return 'confirmed';
    },
  });
  const same = { ...house, joinDeps: { ...house.joinDeps, makeRequest: async () => request } };
  const claim = inputOf(reveal(house.invite({ kind: 'agent' }).pin), { device: DEVICE });
  expect(await codeOf(joinInMemory(same, claim))).toBe('pairing.device_known');
  expect([asked, house.ca.requests]).toEqual([[], []]);
});

const LYING_NAMES: readonly [string, string][] = [
  ['an override of direction', 'agent\u202Erotarepo'],
  ['a line break', 'runner\nkind: operator'],
  ['an escape sequence', '\u001b[2Jrunner'],
  ['a zero width space', 'run\u200Bner'],
  ['a soft hyphen', 'run\u00ADner'],
  ['half a surrogate pair', 'runner\uD800'],
  ['two spellings of one letter', 'cafe\u0301'],
  ['mixed directions', 'runner שלום'],
  ['a no-break space', 'runner\u00A0(operator)'],
  ['a space at the end', 'runner '],
  ['a backslash', 'runner\\u{41}'],
  ['nothing', ''],
  ['too much', 'x'.repeat(65)],
  ['a NUL', 'runner\0'],
];

test.each(LYING_NAMES)('a name with %s is refused from the operator and from the device', async (_what, name) => {
  const house = await openHouse();
  expect(() => house.invite({ name })).toThrow(expect.objectContaining({ code: 'pairing.invalid_name' }));
  const { pin } = house.invite();
  const code = await codeOf(joinInMemory(house, inputOf(reveal(pin), { name })));
  expect(code).toMatch(/^(?:pairing\.invalid_name|primitives\.json_lone_surrogate)$/);
  expect([house.tries(), house.ca.requests]).toEqual([0, []]);
});

test('names of one script are fine, and are shown so that they move nothing beside them', async () => {
  const seen: PairingRequest[] = [];
  const confirm = async (request: PairingRequest) => {
    seen.push(request);
    return 'confirmed' as const;
  };
  const house = await openHouse({ confirm });
  const { pin } = house.invite({ name: '東京の机' });
  const joined = await joinInMemory(house, inputOf(reveal(pin), { name: 'שולחן' }));
  expect([joined.name, seen[0]?.name, seen[0]?.ownName]).toEqual(['東京の机', '東京の机', 'שולחן']);
  expect(shownName('שולחן')).toMatch(/^(?:\\u\{[0-9A-F]+\})+$/);
  expect(shownName('東京の机')).toBe('東京の机');
});
