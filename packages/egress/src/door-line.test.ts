import { once } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';
import { PassThrough } from 'node:stream';
import { expect, test } from 'vitest';
import { createDoorLine } from './door-line.ts';
import { createLine } from './proxy/line.ts';
import { createDoors, saysDoorWord } from './proxy/serve-door.ts';
import { DOOR_WINDOW, DOOR_WORD, FIRST_DOOR } from './wire/door.ts';
import { createFrameReader } from './wire/frames.ts';
import type { DoorNews, FromProxy } from './wire/messages.ts';

/** Both ends on one wire, as palyrad and its proxy have it. */
function wired() {
  const said: FromProxy[] = [];
  const [read, answer] = [createFrameReader(), createFrameReader()];
  const doors = createDoors({
    send: (bytes) => {
      for (const frame of read(bytes)) if (frame.kind === 'bytes') line.hearBytes(frame.bytes);
    },
    say(message) {
      said.push(message);
      if (message.say.startsWith('door_')) line.hear(message as DoorNews);
    },
  });
  const line = createDoorLine({
    id: FIRST_DOOR,
    say: (news) => doors.hear(news),
    send: (bytes) => {
      for (const frame of answer(bytes)) if (frame.kind === 'bytes') doors.hearBytes(frame.id, frame.bytes);
    },
    over: () => undefined,
  });
  return { doors, line, said };
}

test('what is said in the box is heard by palyrad, and the answer in the box, whole; then both are gone', async () => {
  const { doors, line, said } = wired();
  const server = createServer((socket) => doors.serve(createLine(socket), 'label')).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const tool = connect((server.address() as AddressInfo).port, '127.0.0.1');
  const long = Buffer.alloc(3 * DOOR_WINDOW, 'x');
  tool.write(long);
  let heard = 0;
  for await (const bytes of line.stream as AsyncIterable<Buffer>) {
    heard += bytes.length;
    if (heard === long.length) break;
  }
  expect(said[0]).toEqual({ say: 'door', id: FIRST_DOOR, label: 'label' });
  // Leaving the loop has ended it, as an iterator of a stream does.
  await once(tool.resume(), 'close');
  server.close();
});

test('more than there is room for waits until it was taken', async () => {
  const { doors, line } = wired();
  const server = createServer((socket) => doors.serve(createLine(socket), 'label')).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const tool = connect((server.address() as AddressInfo).port, '127.0.0.1');
  const long = Buffer.alloc(4 * DOOR_WINDOW, 'y');
  await once(tool, 'connect');
  tool.write('?');
  await once(line.stream, 'data');
  line.stream.write(long);
  line.stream.end();
  let heard = 0;
  for await (const bytes of tool as AsyncIterable<Buffer>) heard += bytes.length;
  expect(heard).toBe(long.length);
  server.close();
});

test.each([
  ['the word', [DOOR_WORD, 'rest'], true, 'rest'],
  ['the word in pieces', ['PAL', 'YRA1', '\nrest'], true, 'rest'],
  ['another word', ['PATCH / HTTP/1.1'], false, 'PATCH / HTTP/1.1'],
  ['half of it', ['PALY'], false, 'PALY'],
])('%s is told from the rest, and nothing is lost', async (_what, pieces, expected, left) => {
  const stream = new PassThrough();
  const client = createLine(stream);
  for (const piece of pieces) stream.write(piece);
  stream.end();
  expect(await saysDoorWord(client)).toBe(expected);
  let rest = '';
  for (let bytes = await client.read(); bytes !== undefined; bytes = await client.read()) rest += bytes.toString();
  expect(rest).toBe(left);
});
