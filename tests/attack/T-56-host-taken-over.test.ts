// T-56: a compromised WASM host process serves the next caller, or asks in the name of one.

import type { HostEnd, StartHost } from '@palyra/wasm';
import { expect, test } from 'vitest';
import { createFrameReader } from '../../packages/wasm/src/host/frames.ts';
import {
  askFrame,
  type CallMessage,
  HELLO,
  loadedFrame,
  type ResultMessage,
  readCall,
  resultFrame,
  TO_HOST,
} from '../../packages/wasm/src/host/messages.ts';
import { assemble, ECHO, guest } from '../wasm-guests/guests.ts';
import { callOn, openRuntime, openWasmPlace, told } from '../wasm-guests/wasm-place.ts';

const RESULT: Omit<ResultMessage, 'id'> = {
  end: 'completed',
  reused: false,
  fuelUsed: 1n,
  hostCalls: 0,
  exitCode: 0,
  memoryPages: 1,
  log: Buffer.alloc(0),
  message: '',
  output: Buffer.from('"mine"'),
};

interface Taken {
  readonly startHost: StartHost<string>;
  readonly killed: string[];
  readonly started: string[];
}

/** A host that speaks our language and does as the attacker likes. */
function takenHost(answer: (call: CallMessage) => readonly Buffer[]): Taken {
  const killed: string[] = [];
  const started: string[] = [];
  const startHost: StartHost<string> = async ({ onOutput }) => {
    const name = `host ${started.length + 1}`;
    started.push(name);
    const ended = Promise.withResolvers<HostEnd>();
    const reader = createFrameReader();
    queueMicrotask(() => onOutput(HELLO));
    return {
      kind: 'started',
      host: {
        about: name,
        ended: ended.promise,
        kill() {
          killed.push(name);
          ended.resolve({ reason: 'other', message: 'It was ended.' });
        },
        write(bytes) {
          reader.push(Buffer.from(bytes), ({ type, body }) => {
            if (type === TO_HOST.load) onOutput(loadedFrame({ kind: 'ready', restorable: true }));
            if (type === TO_HOST.call) for (const frame of answer(readCall(body))) onOutput(frame);
          });
        },
      },
    };
  };
  return { startHost, killed, started };
}

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
  const waits = await guest({
    imports: '(import "palyra" "emit" (func $emit (param i64 i32 i32) (result i32)))',
    call: '(drop (call $emit (local.get $h) (local.get $p) (local.get $n))) (call $packed (local.get $p) (local.get $n))',
  });
  const grants = { emit: true };
  const asks = Promise.withResolvers<void>();
  const stop = new AbortController();
  const held = place.call(waits, {
    grants,
    input: 1,
    signal: stop.signal,
    answer() {
      asks.resolve();
      return new Promise(() => undefined);
    },
  });
  const answer = async () => ({ status: 0, body: Buffer.alloc(0) });
  const behind = place.call(waits, { grants, input: 2, answer });
  await asks.promise;
  stop.abort();
  expect(told(await held)).toBe('cancelled');
  expect([told(await behind), place.started]).toEqual(['2', 2]);
});
