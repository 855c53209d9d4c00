/**
 * T-24, T-27, T-28, T-56: a guest, or the host process around it, wants to have a secret that it may only use: from an answer
 * that says it back, now or later; by a redirect; for another host; by another name; in place of its own header; with the handle
 * of another call. Real module, real host in its box, real proxy, TLS on loopback.
 */
import { expect, test } from 'vitest';
import { askFrame, HELLO, loadedFrame, resultFrame } from '../../packages/wasm/src/host/messages.ts';
import {
  AWAY,
  BOUND,
  formsOf,
  OTHER,
  openSecretPlace,
  type SecretPlace,
  SPARE,
  TOKEN,
} from '../wasm-guests/secret-place.ts';
import { RESULT } from '../wasm-guests/taken-host.ts';

let place: SecretPlace;

/** In this order, of one palyrad: hosts that one of them has started serve the next. */
test('a guest uses a secret, and neither it nor the host around it ever has it', async () => {
  await using opened = await openSecretPlace();
  place = opened;
  await isAskedAboutAndGoesToItsHost();
  await isMaskedInWhatAHostSaysBack();
  await goesWhereNoRedirectLeads();
  await goesNowhereElse();
  await isThereForNoModuleWithoutTheGrant();
  await isNotHadByAHostThatWasTakenOver();
  await isWrittenNowhere();
  expect(await place.house.verdict()).toBe('sound');
});

const url = (host: string, path: string) => `https://${host}:${place.port}${path}`;
const REFUSED = { code: 'secret_refused', message: 'There is no such secret for that host.' };

/** What a guest answered, which is all that it was given. */
const given = ({ outcome }: Awaited<ReturnType<SecretPlace['call']>>) =>
  (outcome.output as { output?: Record<string, unknown> } | undefined)?.output;

const bodyOf = (answer: Record<string, unknown> | undefined) =>
  Buffer.from(typeof answer?.['body_base64'] === 'string' ? answer['body_base64'] : '', 'base64').toString();

/** A human is asked about the secret and its hosts; the bound host gets it, and the guest does not. */
async function isAskedAboutAndGoesToItsHost(): Promise<void> {
  const { house } = place;
  const calling = place.call('user', { secret: 'token', url: url(BOUND, '/hello') });
  const card = await house.asked();
  expect(JSON.stringify(card)).toMatch(/token.*bound\.example|bound\.example.*token/s);
  expect(place.seen).toEqual([]);
  await house.answer({ scope: 'session' });
  const result = await calling;
  expect(given(result)).toMatchObject({ status: 200, body_base64: Buffer.from('hello').toString('base64') });
  expect(place.seen).toEqual([`${BOUND} GET /hello Bearer ${TOKEN}`]);
  expect(place.asked).toMatchObject([{ principal: 'agent:coder', workspace: 'work', tool: 'palyra.wasm.run' }]);

  const { attestation } = await house.page(result);
  expect(attestation?.statement).toMatchObject({
    egress: [{ host: BOUND, outcome: 'allowed' }],
    sandbox: { asked: ['secret_use=0', 'emit=0', 'kv_put=0'] },
    resources: { host_calls: 5 },
  });
  const { entries } = await house.daemon.journal.query({ call: result.call_id, kinds: ['secret.used', 'outcome'] });
  expect(entries).toMatchObject([
    { kind: 'secret.used', data: { call_id: result.call_id, principal: 'agent:coder', secret: 'token' } },
    { kind: 'outcome' },
  ]);
  const [used] = entries;
  const target = used?.kind === 'secret.used' ? (used.data.target ?? '') : '';
  expect(Buffer.from((await house.daemon.journal.bodies.read(target)).bytes).toString()).toBe(
    `https://${BOUND}:${place.port}`,
  );
}

/** In head and body, compressed, in every form, and when another module asks later. */
async function isMaskedInWhatAHostSaysBack(): Promise<void> {
  const echoed = given(
    await place.call('user', { secret: 'token', url: url(BOUND, '/echo'), method: 'POST', body: 'x' }),
  );
  expect(place.seen).toEqual([`${BOUND} POST /echo Bearer ${TOKEN}`]);
  expect(echoed).toMatchObject({
    status: 200,
    headers: expect.arrayContaining([
      ['x-said', 'Bearer [secret:token]'],
      ['x-hex', '[secret:token]'],
    ]),
  });
  const lines = bodyOf(echoed).split('\n');
  expect(lines).toHaveLength(formsOf(TOKEN).length);
  expect(lines.filter((line) => !line.includes('[secret:token]'))).toEqual([]);
  // Another module, which has no secret and asks without one: what the call has bound for itself is not for guests.
  const reading = place.call('reader', { url: url(BOUND, '/last') });
  await place.house.answer({ scope: 'session' });
  expect(bodyOf(given(await reading))).toBe('Bearer [secret:token]');
  expect(place.seen).toEqual([`${BOUND} GET /last -`]);
  // Nor in two halves, neither of which is a secret that anybody knows.
  const half = given(await place.call('reader', { url: url(BOUND, '/last'), headers: { range: 'bytes=0-15' } }));
  expect([half, place.seen]).toEqual([{ message: expect.stringContaining('part of the secret') }, []]);
}

/** A redirect is the answer: nobody follows it, with the secret or without. */
async function goesWhereNoRedirectLeads(): Promise<void> {
  const led = given(await place.call('user', { secret: 'token', url: url(BOUND, '/away') }));
  expect(led).toMatchObject({
    status: 307,
    url: url(BOUND, '/away'),
    headers: expect.arrayContaining([['location', `${url(OTHER, '/landed')}?key=[secret:token]`]]),
  });
  expect(place.seen).toEqual([`${BOUND} GET /away Bearer ${TOKEN}`]);
}

/** Not to another host, by another name, or beside a header of the guest's own; and every no about it is the same no. */
async function goesNowhereElse(): Promise<void> {
  const at = (host: string, more: object = {}) => ({ secret: 'token', url: url(host, '/'), ...more });
  const looked = place.looked.length;
  const refused = [
    // Granted and not bound; bound and not granted; neither; bound, but not in the clear.
    at(OTHER),
    at(AWAY),
    at('127.0.0.1'),
    { secret: 'token', url: `http://${BOUND}:${place.port}/` },
    // Not granted, though it is there; granted, and not there; one that throws; one that nobody could mask.
    at(BOUND, { secret: 'spare' }),
    at(BOUND, { secret: 'nothing' }),
    at(BOUND, { secret: 'gone' }),
    at(BOUND, { secret: 'sealed' }),
    at(BOUND, { secret: 'pin' }),
    at(BOUND, { secret: '__proto__' }),
  ];
  for (const request of refused) {
    const result = await place.call('user', request);
    expect([request, given(result)]).toEqual([request, REFUSED]);
    const { attestation } = await place.house.page(result);
    expect(attestation?.statement).toMatchObject({
      egress: [],
      sandbox: { asked: ['secret_use=-2', 'emit=0', 'kv_put=0'] },
    });
  }
  // Nobody asked the vault for what was not granted.
  expect(place.looked.slice(looked)).toEqual(['token', 'token', 'gone', 'sealed', 'pin']);

  const header = (headers: Record<string, string>) => at(BOUND, { headers });
  const malformed = [
    header({ authorization: 'Bearer mine' }),
    header({ AUTHORIZATION: 'Bearer mine', Authorization: 'Bearer mine' }),
    header({ Range: 'bytes=7-10' }),
    header({ 'x-mine': 'a\r\nauthorization: Bearer mine' }),
    header({ 'x-mine\r\nx-mine': 'a' }),
    at(BOUND, { method: 'TRACE' }),
    at(BOUND, { method: 'GET / HTTP/1.1\r\nx-mine: a\r\n\r\nGET' }),
    at(BOUND, { secret: 7 }),
    at(BOUND, { agent: 'x' }),
    // A secret that would write headers of its own.
    at(BOUND, { secret: 'lines' }),
  ];
  for (const request of malformed) {
    const answer = given(await place.call('user', request));
    expect([request, Object.keys(answer ?? {})]).toEqual([request, expect.arrayContaining(['message'])]);
    expect([request, place.seen]).toEqual([request, []]);
  }
  // What does not touch it goes along, and what would take it off again does not.
  const beside = at(BOUND, { headers: { 'x-mine': 'mine', connection: 'authorization' } });
  expect(given(await place.call('user', beside))).toMatchObject({ status: 200 });
  expect(place.seen).toEqual([`${BOUND} GET / Bearer ${TOKEN} mine`]);
}

/** Without the grant there is no such function, and a grant that leads nowhere is none. */
async function isThereForNoModuleWithoutTheGrant(): Promise<void> {
  for (const module of ['plain', 'homeless']) {
    const { outcome } = await place.call(module, { secret: 'token', url: url(BOUND, '/') });
    expect([module, outcome]).toMatchObject([module, { kind: 'refused', code: 'wasm.capability_denied' }]);
  }
  expect(place.seen).toEqual([]);
}

/** Asks for `secret` in each of its calls, with the handle of that call or of its first one; answers with what it got. */
function intruder(secret: string, whose: 'own' | 'first'): string {
  const body = Buffer.from(JSON.stringify({ secret, url: url(BOUND, '/taken') }));
  const frames = {
    hello: HELLO,
    loaded: loadedFrame({ kind: 'ready', restorable: true }),
    ask: askFrame({ id: 0, handle: 0n, number: 1, function: 'secret_use', body }),
    result: resultFrame({ ...RESULT, id: 0, hostCalls: 1, output: Buffer.alloc(0) }),
  };
  const made = Object.entries(frames).map(
    ([name, bytes]) => `${name} = Buffer.from('${bytes.toString('hex')}', 'hex')`,
  );
  return `const fs = require('fs'), ${made.join(', ')};
    const say = (bytes) => { for (let at = 0; at < bytes.length; ) { try { at += fs.writeSync(1, bytes, at); } catch (e) { if (e.code !== 'EAGAIN') throw e; } } };
    say(hello); say(loaded);
    let heard = Buffer.alloc(0), first;
    process.stdin.on('data', (bytes) => {
      heard = Buffer.concat([heard, bytes]);
      while (heard.length > 4 && heard.length >= 5 + heard.readUInt32LE(0)) {
        const size = 5 + heard.readUInt32LE(0), type = heard[4], body = heard.subarray(5, size);
        heard = heard.subarray(size);
        if (type === 2) {
          const handle = Buffer.from(body.subarray(4, 12));
          first ??= handle;
          body.copy(ask, 5, 0, 4);
          (${JSON.stringify(whose)} === 'own' ? handle : first).copy(ask, 9);
          body.copy(result, 5, 0, 4);
          say(ask);
        }
        if (type === 3) {
          const answer = Buffer.from(body.subarray(12)), out = Buffer.concat([result, answer]);
          out.writeUInt32LE(out.length - 5, 0);
          out.writeUInt32LE(answer.length, 5 + 34);
          say(out);
        }
      }
    });`;
}

/** It gets what its own call was granted, which is not the secret; nothing by another name or handle. */
async function isNotHadByAHostThatWasTakenOver(): Promise<void> {
  const { house } = place;
  // The words of an honest host; only that nobody has called the guest.
  place.takeOver(intruder('token', 'first'));
  const calling = place.call('taken-user', {});
  expect(given(await calling)).toMatchObject({ status: 200, body_base64: Buffer.from('hello').toString('base64') });
  expect(place.seen).toEqual([`${BOUND} GET /taken Bearer ${TOKEN}`]);
  // The next call, with the handle of the one before: the host is ended.
  const stale = await place.call('taken-user', {});
  expect(stale.outcome).toMatchObject({ kind: 'failed', code: 'wasm.host_error' });
  expect(place.seen).toEqual([]);

  place.takeOver(intruder('spare', 'own'));
  expect(given(await place.call('taken-user', {}))).toEqual(REFUSED);
  // One whose module was granted no secret at all.
  const reader = await place.call('taken-reader', {});
  expect(reader.outcome).toMatchObject({ kind: 'failed', code: 'wasm.host_error' });
  expect(place.seen).toEqual([]);
  place.takeOver(undefined);
  const { entries } = await house.daemon.journal.query({ call: reader.call_id, kinds: ['secret.used'] });
  expect(entries).toEqual([]);
}

/** Not in what a host was told, on a stream, in a log, a record or a file. */
async function isWrittenNowhere(): Promise<void> {
  const { told } = place;
  const forms = [...formsOf(TOKEN), ...formsOf(SPARE)];
  const found = (bytes: Uint8Array) => forms.filter((form) => Buffer.from(bytes).includes(form));
  expect(told.hosts.length).toBeGreaterThan(20);
  expect(Buffer.concat(told.streams).toString()).toContain('[secret:token]');
  expect(told.log.join('')).toContain('a secret was not to be had');
  for (const said of [told.hosts, told.streams, told.log.map((line) => Buffer.from(line))]) {
    expect(found(Buffer.concat(said))).toEqual([]);
  }
  expect(place.filesWith(forms)).toEqual([]);
}
