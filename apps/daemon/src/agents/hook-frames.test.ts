import { createHmac } from 'node:crypto';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { HOOK_MAGIC, readQuestion, writeAnswer } from './hook-frames.ts';

const KEY = Buffer.alloc(32, 7);

function question(client: string, program: string, message: string, key = KEY): Buffer {
  const part = (text: string, bytes: 2 | 4) => {
    const length = Buffer.alloc(bytes);
    length.writeUIntBE(Buffer.byteLength(text), 0, bytes);
    return Buffer.concat([length, Buffer.from(text)]);
  };
  const body = Buffer.concat([HOOK_MAGIC, Buffer.alloc(32, 1), part(client, 2), part(program, 2), part(message, 4)]);
  return Buffer.concat([body, createHmac('sha256', key).update('palyra.hook.ask\0').update(body).digest()]);
}

test('a question is read when all of it is there, and not before', () => {
  const whole = question('claude-code', '/opt/palyra', '{"a":1}');
  for (let length = 0; length < whole.length; length += 1) {
    expect(readQuestion(whole.subarray(0, length), KEY)).toEqual({ kind: 'more' });
  }
  expect(readQuestion(whole, KEY)).toMatchObject({
    kind: 'question',
    question: { client: 'claude-code', program: '/opt/palyra', message: '{"a":1}' },
  });
});

test('one changed byte, another key, or a byte more is no question', () => {
  const whole = question('codex', '/p', 'x');
  expect(readQuestion(Buffer.concat([whole, Buffer.of(0)]), KEY)).toEqual({ kind: 'refused' });
  expect(readQuestion(question('codex', '/p', 'x', Buffer.alloc(32, 8)), KEY)).toEqual({ kind: 'refused' });
  for (let at = 0; at < whole.length; at += 1) {
    const changed = Buffer.from(whole);
    changed[at] = (changed[at] ?? 0) ^ 1;
    expect(readQuestion(changed, KEY).kind, `byte ${at}`).not.toBe('question');
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
  const [one, other] = [writeAnswer(reply, Buffer.alloc(32, 1), KEY), writeAnswer(reply, Buffer.alloc(32, 2), KEY)];
  expect(one.subarray(0, -32)).toEqual(Buffer.from([2, 0, 0, 0, 1, 111, 0, 0, 0, 2, 0xc3, 0xa9]));
  expect(one.subarray(-32)).not.toEqual(other.subarray(-32));
});
