import { once } from 'node:events';
import { duplexPair } from 'node:stream';
import { parseConfig } from '@palyra/config';
import { createCaptureLogger } from '@palyra/testkit';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { openDoor } from './serve-door.ts';

/** The beginning of every HTTP/2 connection, and empty settings. */
const HELLO = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0', 'latin1');
const PING_TYPE = 6;

beforeAll(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval'] });
});
afterAll(() => {
  vi.useRealTimers();
});

function doorOf() {
  return openDoor({
    sessions: { answer: () => Promise.reject(new Error('nobody asks')) },
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

/** The types of the frames in it; palyrad writes them whole. */
function framesOf(bytes: Buffer): readonly number[] {
  const types: number[] = [];
  for (let at = 0; at + 9 <= bytes.length; at += 9 + bytes.readUIntBE(at, 3)) types.push(bytes[at + 3] ?? 0);
  return types;
}
