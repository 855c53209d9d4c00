import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { createLine, type Line } from './line.ts';

/** A client that never hangs up, and our end of its connection. */
async function connected(): Promise<{ readonly client: Socket; readonly line: Line; readonly closed: Promise<void> }> {
  const server = createServer({ allowHalfOpen: true }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  const client = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
  const [socket] = (await once(server, 'connection')) as [Socket];
  server.close();
  const line = createLine(socket);
  const closed = new Promise<void>((resolve) => line.onClosed(resolve));
  return { client, line, closed };
}

async function heardBy(client: Socket): Promise<string> {
  const pieces: Buffer[] = [];
  client.on('data', (piece: Buffer) => pieces.push(piece));
  await once(client, 'end');
  return Buffer.concat(pieces).toString();
}

// No timer ever comes: what closes a connection here is not one.
beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }));
afterEach(() => void vi.useRealTimers());

test('one that is dismissed hears the last words, and is cut off when they are out', async () => {
  const { client, line, closed } = await connected();
  client.write('CONNECT');
  await line.read();
  const heard = heardBy(client);
  line.dismiss('no');
  line.finish();
  await closed;
  expect(await heard).toBe('no');
  client.destroy();
});

test('one that goes on talking is heard out, so that it comes to read them', async () => {
  const { client, line, closed } = await connected();
  client.write('POST');
  await line.read();
  line.unread(Buffer.from('a body'));
  const heard = heardBy(client);
  line.dismiss('no');
  expect(await heard).toBe('no');
  expect(line.isClosed).toBe(false);
  client.end('the rest');
  await closed;
});

test('one that never comes to an end is cut off all the same', async () => {
  const { client, line, closed } = await connected();
  line.finish('no');
  expect(await heardBy(client)).toBe('no');
  vi.runAllTimers();
  await closed;
  client.destroy();
});
