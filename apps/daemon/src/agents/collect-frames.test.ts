import { createHmac } from 'node:crypto';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { COLLECT_MAGIC, createTeller, MOST_TOLD, readCollection } from './collect-frames.ts';
import { holdRequest } from './hold-request.ts';
import { hookKeyOf, readQuestion } from './hook-frames.ts';

const KEY = hookKeyOf(Buffer.alloc(32, 7));
const NONCE = Buffer.alloc(32, 1);
const ID = '01M7K48D0SBA2350575B6HPHYE';

function collection(id: string, key = KEY, purpose = 'palyra.hook.collect'): Buffer {
  const length = Buffer.alloc(2);
  length.writeUInt16BE(Buffer.byteLength(id));
  const body = Buffer.concat([COLLECT_MAGIC, NONCE, length, Buffer.from(id)]);
  return Buffer.concat([body, createHmac('sha256', key).update(`${purpose}\0`).update(body).digest()]);
}

test('it is read when all of it is there, in pieces of any size, and not before', () => {
  const whole = collection(ID);
  for (let length = 0; length < whole.length; length += 1) {
    expect(readCollection(whole.subarray(0, length), KEY).kind).toBe('more');
  }
  const read = { kind: 'collection', collection: { nonce: NONCE, callId: ID } };
  expect(readCollection(whole, KEY)).toEqual(read);
  const held = holdRequest(KEY);
  for (const byte of whole.subarray(0, -1)) expect(held.hear(Buffer.of(byte)).kind).toBe('more');
  expect(held.hear(whole.subarray(-1))).toEqual(read);
});

test('one changed byte, another key, another purpose, a byte more or a longer id is none', () => {
  const whole = collection(ID);
  expect(readCollection(Buffer.concat([whole, Buffer.of(0)]), KEY)).toEqual({ kind: 'refused' });
  expect(readCollection(collection(ID, hookKeyOf(Buffer.alloc(32, 8))), KEY)).toEqual({ kind: 'refused' });
  expect(readCollection(collection(ID, KEY, 'palyra.hook.ask'), KEY)).toEqual({ kind: 'refused' });
  expect(readCollection(collection('x'.repeat(65)).subarray(0, 40), KEY)).toEqual({ kind: 'refused' });
  expect(readQuestion(whole, KEY)).toEqual({ kind: 'refused' });
  for (let at = 0; at < whole.length; at += 1) {
    const changed = Buffer.from(whole);
    changed[at] = (changed[at] ?? 0) ^ 1;
    expect(readCollection(changed, KEY).kind, `byte ${at}`).not.toBe('collection');
  }
});

test('whatever arrives, it is answered with a value', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
      expect(readCollection(Buffer.concat([COLLECT_MAGIC, bytes]), KEY).kind).not.toBe('collection');
    }),
  );
});

test('what is told has a form that the program knows, and is signed with its place', () => {
  const teller = createTeller({ nonce: NONCE }, KEY);
  const frames = [
    teller.output('stdout', Buffer.from('o')),
    teller.output('stderr', Buffer.from('é')),
    teller.end({ exit: 246, words: 'no\n' }),
  ];
  const bodies = ['01000000016f', '0200000002c3a9', '0300000004f66e6f0a'];
  expect(frames.map((frame) => frame.subarray(0, -32).toString('hex'))).toEqual(bodies);
  // As native/hook/frames.c signs them; the program itself is held to it in tests/attack/T-58-collector.test.ts.
  const signed = bodies.map((body, nth) => {
    const place = Buffer.from(nth.toString(16).padStart(16, '0'), 'hex');
    const mac = createHmac('sha256', Buffer.alloc(32, 7)).update('palyra.hook.told\0').update(NONCE).update(place);
    return mac.update(Buffer.from(body, 'hex')).digest('hex');
  });
  expect(frames.map((frame) => frame.subarray(-32).toString('hex'))).toEqual(signed);
  expect(signed[0]).toBe('d9bfcbf50fca201889542a3bc3701e2f9cc67e999f62dcae3594bc8506d5a1d7');
});

test('the same told twice, or to another one, is signed otherwise; no end is too long', () => {
  const [one, other] = [createTeller({ nonce: NONCE }, KEY), createTeller({ nonce: Buffer.alloc(32, 2) }, KEY)];
  const macs = [one, one, other].map((teller) => teller.output('stdout', Buffer.from('o')).toString('hex'));
  expect(new Set(macs).size).toBe(3);
  expect(one.end({ exit: 1, words: 'x'.repeat(100_000) })).toHaveLength(5 + MOST_TOLD + 32);
});
