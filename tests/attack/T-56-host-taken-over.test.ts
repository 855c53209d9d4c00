// T-56: a compromised WASM host process serves the next caller, or asks in the name of one.

import { expect, test } from 'vitest';
import { askFrame, type CallMessage, type GuestEnd, resultFrame } from '../../packages/wasm/src/host/messages.ts';
import { assemble, ECHO, guest } from '../wasm-guests/guests.ts';
import { RESULT, takenHost } from '../wasm-guests/taken-host.ts';
import { callOn, openRuntime, openWasmPlace, told } from '../wasm-guests/wasm-place.ts';

const TRICKS: Readonly<Record<string, (call: CallMessage) => readonly Buffer[]>> = {
  'answers another call': ({ id }) => [resultFrame({ ...RESULT, id: id + 1 })],
  'has used more than it was given': ({ id, fuel }) => [resultFrame({ ...RESULT, id, fuelUsed: fuel + 1n })],
  'says more than it may': ({ id }) => [resultFrame({ ...RESULT, id, output: Buffer.alloc(8 * 1024 * 1024) })],
  'is asked nothing and asks': ({ id, handle }) => [
    askFrame({ id, handle, number: 1, function: 'kv_get', body: Buffer.from('k') }),
  ],
  'asks with a handle of its own': ({ id }) => [
    askFrame({ id, handle: 7n, number: 1, function: 'emit', body: Buffer.from('{}') }),
  ],
  'asks for a call that is over': ({ id, handle }) => [
    resultFrame({ ...RESULT, id }),
    askFrame({ id, handle, number: 1, function: 'emit', body: Buffer.from('{}') }),
  ],
  'puts out more than it may': ({ id }) => [resultFrame({ ...RESULT, id, output: Buffer.alloc(1024 * 1024 + 1) })],
  'logs more than it may': ({ id }) => [resultFrame({ ...RESULT, id, log: Buffer.alloc(64 * 1024 + 1) })],
  'says more of its end than a sentence': ({ id }) => [
    resultFrame({ ...RESULT, id, end: 'trapped', message: 'x'.repeat(60_000) }),
  ],
  'made more host calls than it may': ({ id }) => [resultFrame({ ...RESULT, id, hostCalls: 1_002 })],
  'speaks another language': () => [Buffer.from('GET / HTTP/1.1\r\n\r\n')],
};

test.each(Object.entries(TRICKS))('a host that %s is ended, and nothing was done for it', async (name, answer) => {
  const { startHost, killed } = takenHost(answer);
  const runtime = openRuntime(startHost);
  const asked: string[] = [];
  const outcome = await callOn(runtime, await assemble(ECHO), {
    grants: { emit: true },
    async answer(asks) {
      asked.push(asks);
      return { status: 0, body: Buffer.alloc(0) };
    },
  });
  expect(told(outcome)).toBe(name === 'asks for a call that is over' ? '"mine"' : 'host_error');
  await expect.poll(() => killed).toEqual(['host 1']);
  expect(asked).toEqual([]);
  await runtime.close();
});

const asking = ({ id, handle }: CallMessage, number: number) =>
  askFrame({ id, handle, number, function: 'emit', body: Buffer.from('{}') });

const IMPATIENT: Readonly<Record<string, (call: CallMessage) => readonly Buffer[]>> = {
  'asks twice at once': (call) => [asking(call, 1), asking(call, 2)],
  'ends while its question is open': (call) => [asking(call, 1), resultFrame({ ...RESULT, id: call.id })],
};

/** Something is asked for with them. */
const asks = () =>
  guest({
    imports: '(import "palyra" "emit" (func $emit (param i64 i32 i32) (result i32)))',
    call: '(drop (call $emit (local.get $h) (local.get $p) (local.get $n))) (call $packed (local.get $p) (local.get $n))',
  });

test.each(Object.entries(IMPATIENT))('a host that %s is ended after the first question', async (_, answer) => {
  const { startHost, killed } = takenHost(answer);
  const runtime = openRuntime(startHost);
  const asked: string[] = [];
  const outcome = await callOn(runtime, await asks(), {
    grants: { emit: true },
    async answer(name) {
      asked.push(name);
      return { status: 0, body: Buffer.alloc(0) };
    },
    signal: AbortSignal.timeout(10_000),
  });
  expect([told(outcome), asked, outcome.hostCalls]).toEqual(['host_error', ['emit'], 1]);
  expect(killed).toContain('host 1');
  await runtime.close();
});

test.each(['completed', 'disabled', '__proto__'])(
  'a host that refuses its module as %s is not believed',
  async (end) => {
    const { startHost } = takenHost(() => [], { kind: 'refused', end: end as GuestEnd, message: 'Mine.' });
    const runtime = openRuntime(startHost);
    expect(told(await callOn(runtime, await assemble(ECHO), {}))).toBe('host_error');
    await runtime.close();
  },
);

test('what palyrad answered is counted, whatever a host says', async () => {
  const { startHost } = takenHost((call, say) => {
    void answered.promise.then(() => setImmediate(() => say(resultFrame({ ...RESULT, id: call.id, hostCalls: 0 }))));
    return [asking(call, 1)];
  });
  const answered = Promise.withResolvers<void>();
  const runtime = openRuntime(startHost);
  const outcome = await callOn(runtime, await asks(), {
    grants: { emit: true },
    async answer() {
      answered.resolve();
      return { status: 0, body: Buffer.alloc(0) };
    },
  });
  expect([told(outcome), outcome.hostCalls]).toEqual(['"mine"', 1]);
  await runtime.close();
});

test('no host serves two principals, two modules or two sets of grants', async () => {
  const { startHost, started } = takenHost(({ id }) => [resultFrame({ ...RESULT, id })]);
  const runtime = openRuntime(startHost, { lanes: { hosts: 16 } });
  const [echo, other] = [await assemble(ECHO), await guest({ call: '(i64.const 0)' })];
  const by = async (bytes: Uint8Array, principal: string, grants = {}) => {
    const outcome = await callOn(runtime, bytes, { principal, grants });
    return outcome.kind === 'completed' ? outcome.host : outcome.kind;
  };
  const hosts = [
    await by(echo, 'agent:one'),
    await by(echo, 'agent:two'),
    await by(other, 'agent:one'),
    await by(echo, 'agent:one', { now: true }),
    await by(echo, 'agent:one'),
  ];
  expect(hosts).toEqual(['host 1', 'host 2', 'host 3', 'host 4', 'host 1']);
  expect(started).toHaveLength(4);
  await runtime.close();
});

test('a host is replaced after as many calls as it may serve', async () => {
  const { startHost, started } = takenHost(({ id }) => [resultFrame({ ...RESULT, id })]);
  const runtime = openRuntime(startHost, { lanes: { callsPerHost: 2, hostsOfOne: 1 } });
  const echo = await assemble(ECHO);
  for (let call = 0; call < 5; call += 1) expect(told(await callOn(runtime, echo, {}))).toBe('"mine"');
  expect(started).toHaveLength(3);
  await runtime.close();
});

test('killing a host in mid-call gives a typed outcome, and the calls behind it are not lost', async () => {
  await using place = await openWasmPlace({ lanes: { hostsOfOne: 1 } });
  const waits = await asks();
  const grants = { emit: true };
  const begun = Promise.withResolvers<void>();
  const stop = new AbortController();
  const held = place.call(waits, {
    grants,
    input: 1,
    signal: stop.signal,
    answer() {
      begun.resolve();
      return new Promise(() => undefined);
    },
  });
  const answer = async () => ({ status: 0, body: Buffer.alloc(0) });
  const behind = place.call(waits, { grants, input: 2, answer });
  await begun.promise;
  stop.abort();
  expect(told(await held)).toBe('cancelled');
  expect([told(await behind), place.started]).toEqual(['2', 2]);
});
