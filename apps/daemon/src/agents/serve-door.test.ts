import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { duplexPair } from 'node:stream';
import { parseConfig } from '@palyra/config';
import type { Caller, ToolCallResult } from '@palyra/gateway';
import { createCaptureLogger } from '@palyra/testkit';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { COLLECT_MAGIC } from './collect-frames.ts';
import { createOutputChannel } from './output-channel.ts';
import { type DoorDeps, openDoor } from './serve-door.ts';

/** The beginning of every HTTP/2 connection, and empty settings. */
const HELLO = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0', 'latin1');
const PING_TYPE = 6;

beforeAll(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval'] });
});
afterAll(() => {
  vi.useRealTimers();
});

const NOBODY: DoorDeps['sessions'] = {
  answer: () => Promise.reject(new Error('nobody asks')),
  caller: () => Promise.reject(new Error('nobody comes')),
  collect: () => {
    throw new Error('nobody comes');
  },
};

function doorOf(sessions = NOBODY) {
  return openDoor({
    sessions,
    clock: { sleep: () => new Promise(() => undefined) },
    stopping: new AbortController().signal,
    gate: () => Promise.reject(new Error('nobody calls')),
    interceptors: [],
    register: () => undefined,
    limits: parseConfig('', 'x').config.limits,
    logger: createCaptureLogger().logger,
    stopped: new AbortController().signal,
  });
}

test('SECURITY: T-39 — who connects from a box, says that it speaks HTTP/2 and then nothing more is hung up on', async () => {
  const { door, close } = doorOf();
  const [inside, outside] = duplexPair();
  door(outside);
  const gone = once(outside, 'close');
  const asked = new Promise<void>((resolve) => {
    inside.on('data', (bytes: Buffer) => framesOf(bytes).includes(PING_TYPE) && resolve());
  });
  inside.write(HELLO);
  // What palyrad says of itself: the session is open.
  await once(inside, 'data');
  vi.advanceTimersByTime(30_000);
  await asked;
  expect(outside.destroyed).toBe(false);
  vi.advanceTimersByTime(30_000);
  await gone;
  close();
});

test('SECURITY: T-39 — who connects from a box and says nothing is not waited for', async () => {
  const { door, close } = doorOf();
  const [inside, outside] = duplexPair();
  door(outside);
  const gone = once(outside, 'close');
  inside.resume();
  vi.advanceTimersByTime(10_000);
  await gone;
  expect(outside.destroyed).toBe(true);
  close();
});

const ID = '01M7K48D0SBA2350575B6HPHYE';
const CANCELLED = '\xf9error[tool.cancelled]: It was cancelled.\n';

/** The request for one command, which is cancelled as a real one is, and the ends of a connection to it. */
function collectingDoor() {
  const output = createOutputChannel();
  const result = Promise.withResolvers<ToolCallResult>();
  const cancel = () => {
    output.close();
    const outcome = { kind: 'cancelled', code: 'tool.cancelled', message: 'It was cancelled.' };
    result.resolve({ decision: { kind: 'allow' }, outcome } as ToolCallResult);
  };
  const command = { credential: 'wrap_a', output, result: result.promise, cancel };
  const collect = vi.fn<DoorDeps['sessions']['collect']>(() => command);
  const { door, close } = doorOf({ ...NOBODY, caller: async () => ({ credential: 'wrap_a' }) as Caller, collect });
  const [inside, outside] = duplexPair();
  const body = Buffer.concat([COLLECT_MAGIC, Buffer.alloc(32, 1), Buffer.of(0, ID.length), Buffer.from(ID)]);
  const mac = createHmac('sha256', Buffer.alloc(32)).update('palyra.hook.collect\0').update(body).digest();
  return { request: Buffer.concat([body, mac]), output, collect, inside, come: () => door(outside), close };
}

test.each<[string, (act: () => void) => void]>([
  ['in the same moment', (act) => act()],
  ['a tick later', (act) => process.nextTick(act)],
  ['a turn later', (act) => void setImmediate(act)],
])('who half hangs up %s does not want the command, and is told that it ended', async (_when, later) => {
  const { request, inside, come, close } = collectingDoor();
  inside.write(request);
  later(() => inside.end());
  come();
  const [end] = (await once(inside, 'data')) as [Buffer];
  expect(end.subarray(5, -32).toString('latin1')).toBe(CANCELLED);
  close();
});

test('whoever comes from a box for a command is told of it, and ends it by half hanging up', async () => {
  const { request, output, collect, inside, come, close } = collectingDoor();
  come();
  for (const byte of request) inside.write(Buffer.of(byte));
  void output.push({ stream: 'stdout', bytes: new Uint8Array([111, 117, 116]) });
  const [told] = (await once(inside, 'data')) as [Buffer];
  expect(told.subarray(0, 8).toString('latin1')).toBe('\x01\0\0\0\x03out');
  expect(collect.mock.calls).toEqual([[ID, 'wrap_a']]);
  inside.end();
  const [end] = (await once(inside, 'data')) as [Buffer];
  expect(end.subarray(5, -32).toString('latin1')).toBe(CANCELLED);
  close();
});

/** The types of the frames in it; palyrad writes them whole. */
function framesOf(bytes: Buffer): readonly number[] {
  const types: number[] = [];
  for (let at = 0; at + 9 <= bytes.length; at += 9 + bytes.readUIntBE(at, 3)) types.push(bytes[at + 3] ?? 0);
  return types;
}
