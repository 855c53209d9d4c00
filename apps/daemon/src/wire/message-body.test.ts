import type { ServerHttp2Stream } from 'node:http2';
import { Writable } from 'node:stream';
import { expect, test } from 'vitest';
import { createMessageBody, isBinary } from './message-body.ts';

/** Takes nothing until it is told to. */
function createSlowStream() {
  const written: Buffer[] = [];
  const taking: (() => void)[] = [];
  const stream = new Writable({
    highWaterMark: 8,
    write(chunk: Buffer, _encoding, done) {
      written.push(chunk);
      taking.push(done);
    },
  });
  return { stream, written, take: () => taking.shift()?.(), body: createMessageBody(stream as ServerHttp2Stream, 16) };
}

test('messages go in one piece, each with its length', () => {
  const { written, body } = createSlowStream();
  void body.write([Uint8Array.of(7), new Uint8Array(), Uint8Array.of(8, 9)]);
  expect(written).toEqual([Buffer.from([0, 0, 0, 0, 1, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 8, 9])]);
});

test('there is nothing to wait for while there is room, and room when it was taken', async () => {
  const { body, take, stream } = createSlowStream();
  expect(body.write([Uint8Array.of(1)])).toBeUndefined();
  const room = body.write([Uint8Array.of(2)]);
  expect(room).toBeInstanceOf(Promise);
  take();
  take();
  await room;
  expect(stream.listenerCount('close')).toBe(0);
});

test('whoever is gone is not waited for', async () => {
  const { body, stream } = createSlowStream();
  const room = body.write([new Uint8Array(16)]);
  stream.destroy();
  await room;
  expect(body.write([new Uint8Array(16)])).toBeUndefined();
});

test('what fits no message is not written', () => {
  const { body, written } = createSlowStream();
  expect(() => body.write([Uint8Array.of(1), new Uint8Array(17)])).toThrow(
    expect.objectContaining({ code: 'daemon.too_large' }),
  );
  expect(written).toEqual([]);
});

test.each([
  ['application/grpc', true],
  ['application/grpc+proto', true],
  ['application/grpc-web+proto', true],
  ['application/connect+proto', true],
  ['application/connect+json', false],
  ['application/grpc-web-text', false],
  ['application/grpc+json', false],
  [undefined, false],
])('%s is plain bytes: %s', (type, expected) => {
  expect(isBinary(type)).toBe(expected);
});
