/**
 * T-39: all calls share one proxy, and one of them keeps it busy with a few bytes that take long to read. What is counted is the
 * work, and how often others get their turn meanwhile: no clock says whether that is enough.
 */
import { PassThrough } from 'node:stream';
import { expect, test, vi } from 'vitest';
import { readClientHello } from '../../packages/egress/src/proxy/client-hello.ts';
import { readBody } from '../../packages/egress/src/proxy/http-body.ts';
import { createLine } from '../../packages/egress/src/proxy/line.ts';

/** A hello of 4 KiB whose handshake message is cut into records of one byte. */
function helloInSingleBytes(): Buffer {
  const message = Buffer.alloc(4 * 1024);
  message[0] = 1;
  message.writeUIntBE(message.length - 4, 1, 3);
  return Buffer.concat([...message].map((byte) => Buffer.from([22, 3, 1, 0, 1, byte])));
}

test('a TLS hello in records of one byte is put together once, and not anew for each of them', () => {
  const hostile = helloInSingleBytes();
  // All of it and one record less: the one is read, the other waited for.
  for (const bytes of [hostile, hostile.subarray(0, -6)]) {
    const concat = vi.spyOn(Buffer, 'concat');
    try {
      readClientHello(bytes);
      const copied = concat.mock.results.reduce((sum, { value }) => sum + (value as Buffer).length, 0);
      expect(copied).toBeLessThan(2 * bytes.length);
    } finally {
      concat.mockRestore();
    }
  }
});

test('a body of chunks of one byte leaves a turn to everybody else, over and over', async () => {
  const chunks = 16_384;
  const socket = new PassThrough({ highWaterMark: 2 ** 20 });
  const line = createLine(socket);
  socket.write(`${'1\r\nx\r\n'.repeat(chunks)}0\r\n\r\n`);
  let isOver = false;
  let turns = 0;
  const others = (): void => {
    if (isOver) return;
    turns += 1;
    setImmediate(others);
  };
  setImmediate(others);
  let taken = 0;
  await readBody(line, { kind: 'chunked' }, (piece) => {
    taken += piece.length;
    return undefined;
  });
  isOver = true;
  expect(taken).toBe(chunks);
  expect(turns).toBeGreaterThan(chunks / 256);
});
