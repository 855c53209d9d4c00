import { createHmac } from 'node:crypto';
import fc from 'fast-check';
import { expect, test, vi } from 'vitest';
import { holdRequest } from './hold-request.ts';
import { expectAnswer, expectQuestion, HOOK_MAGIC, hookKeyOf, readQuestion, writeAnswer } from './hook-frames.ts';
import { countUnproven } from './unproven-bytes.ts';

const KEY = hookKeyOf(Buffer.alloc(32, 7));

function question(client: string, program: string, message: string, key = KEY): Buffer {
  const part = (text: string, bytes: 2 | 4) => {
    const length = Buffer.alloc(bytes);
    length.writeUIntBE(Buffer.byteLength(text), 0, bytes);
    return Buffer.concat([length, Buffer.from(text)]);
  };
  const paths = [part(program, 2), part('/where', 2)];
  const body = Buffer.concat([HOOK_MAGIC, Buffer.alloc(32, 1), part(client, 2), ...paths, part(message, 4)]);
  return Buffer.concat([body, createHmac('sha256', key).update('palyra.hook.ask\0').update(body).digest()]);
}

test('a question is read when all of it is there, and not before', () => {
  const whole = question('claude-code', '/opt/palyra', '{"a":1}');
  for (let length = 0; length < whole.length; length += 1) {
    expect(readQuestion(whole.subarray(0, length), KEY).kind).toBe('more');
  }
  expect(readQuestion(whole, KEY)).toMatchObject({
    kind: 'question',
    question: { client: 'claude-code', program: '/opt/palyra', directory: '/where', message: '{"a":1}' },
  });
});

test('one changed byte, another key, or a byte more is no question', () => {
  const whole = question('codex', '/p', 'x');
  expect(readQuestion(Buffer.concat([whole, Buffer.of(0)]), KEY)).toEqual({ kind: 'refused' });
  expect(readQuestion(question('codex', '/p', 'x', hookKeyOf(Buffer.alloc(32, 8))), KEY)).toEqual({ kind: 'refused' });
  for (let at = 0; at < whole.length; at += 1) {
    const changed = Buffer.from(whole);
    changed[at] = (changed[at] ?? 0) ^ 1;
    expect(readQuestion(changed, KEY).kind, `byte ${at}`).not.toBe('question');
  }
});

test('SECURITY: T-36 — a signature that was begun ahead is as good as another, for one question and for its own key', () => {
  const other = hookKeyOf(Buffer.alloc(32, 8));
  for (let turn = 0; turn < 3; turn += 1) {
    expectQuestion(KEY);
    expectQuestion(KEY);
    // Only for the first of them one was begun.
    for (const nth of [1, 2]) {
      const whole = question('codex', '/p', `${turn} ${nth}`);
      expect(readQuestion(whole, other)).toEqual({ kind: 'refused' });
      expect(readQuestion(whole, KEY)).toMatchObject({ kind: 'question', question: { message: `${turn} ${nth}` } });
    }
  }
});

test('whatever arrives, it is answered with a value', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
      expect(readQuestion(Buffer.from(bytes), KEY).kind).not.toBe('question');
    }),
  );
});

test('an answer is bound to its question', () => {
  const reply = { exitCode: 2, stdout: 'o', stderr: 'é' };
  const answer = (nonce: number) => writeAnswer(reply, expectAnswer({ nonce: Buffer.alloc(32, nonce) }, KEY));
  const [one, other] = [answer(1), answer(2)];
  expect(one.subarray(0, -32)).toEqual(Buffer.from([2, 0, 0, 0, 1, 111, 0, 0, 0, 2, 0xc3, 0xa9]));
  expect(one.subarray(-32)).not.toEqual(other.subarray(-32));
});

test('in pieces of any size it is the same question, and joined twice', () => {
  const whole = question('codex', '/opt/palyra', 'm'.repeat(200_000));
  for (const size of [1024, 65_536, whole.length]) {
    const concat = vi.spyOn(Buffer, 'concat');
    const held = holdRequest(KEY);
    const kinds: string[] = [];
    for (let at = 0; at < whole.length; at += size) kinds.push(held.hear(whole.subarray(at, at + size)).kind);
    expect(concat.mock.calls.length, `pieces of ${size}`).toBeLessThanOrEqual(2);
    concat.mockRestore();
    expect([kinds.at(-1), new Set(kinds.slice(0, -1))]).toEqual([
      'question',
      new Set(kinds.length > 1 ? ['more'] : []),
    ]);
  }
  const held = holdRequest(KEY);
  for (const byte of question('codex', '/p', 'x').subarray(0, -1)) expect(held.hear(Buffer.of(byte)).kind).toBe('more');
  expect(held.hear(question('codex', '/p', 'x').subarray(-1)).kind).toBe('question');
});

test('those without a key are held so many bytes, and are so many', () => {
  const unproven = countUnproven({ mostBytes: 10, mostOpen: 2 });
  const [one, two, three] = [unproven.open(), unproven.open(), unproven.open()];
  expect([one.take(6), two.take(5), two.take(4), three.take(1)]).toEqual([true, false, true, false]);
  one.close();
  one.close();
  expect([unproven.held, one.take(1), two.take(6), unproven.held]).toEqual([4, false, true, 10]);
  three.close();
  expect(unproven.open().take(0)).toBe(true);
});
