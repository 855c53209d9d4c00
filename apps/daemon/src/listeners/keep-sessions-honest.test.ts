import { once } from 'node:events';
import { connect, createServer, type ServerHttp2Session } from 'node:http2';
import { type AddressInfo, connect as connectTcp } from 'node:net';
import { expect, test } from 'vitest';
import { keepSessionsHonest } from './keep-sessions-honest.ts';

/** The beginning of every HTTP/2 connection, and empty settings. */
const HELLO = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0', 'latin1');

test('a client that answers stays, and one that does not is hung up on', async () => {
  const server = createServer();
  keepSessionsHonest(server, 50);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const honest = connect(`http://127.0.0.1:${port}`);
  await once(honest, 'connect');
  // It says that it speaks HTTP/2, and never another word.
  const silent = connectTcp(port, '127.0.0.1');
  const opened = once(server, 'session') as Promise<[ServerHttp2Session]>;
  silent.write(HELLO);
  silent.resume();
  await opened;
  await once(silent, 'close');
  expect(honest.destroyed).toBe(false);
  await new Promise((resolve, reject) => {
    honest.ping((error) => (error === null ? resolve(undefined) : reject(error)));
  });
  honest.close();
  server.close();
});
