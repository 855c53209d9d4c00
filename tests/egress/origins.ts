import { once } from 'node:events';
import { createServer as createHttpServer, type RequestListener } from 'node:http';
import { createServer, type Server, type Socket } from 'node:net';

/** A server on loopback that stands for a host of the internet, and knows what reached it. */
export interface Origin {
  readonly port: number;
  /** Bytes of all connections, one entry for each. */
  readonly heard: Buffer[];
  close(): Promise<void>;
}

/** Listens on a port of its own, and says what `answer` does with each connection. */
export async function startOrigin(answer: (socket: Socket) => void = () => {}): Promise<Origin> {
  const heard: Buffer[] = [];
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    const index = heard.push(Buffer.alloc(0)) - 1;
    socket.on('error', () => {});
    socket.on('data', (bytes: Buffer) => {
      heard[index] = Buffer.concat([heard[index] ?? Buffer.alloc(0), bytes]);
    });
    answer(socket);
  });
  return listening(server, heard);
}

export async function startHttpOrigin(listener: RequestListener): Promise<Origin> {
  const heard: Buffer[] = [];
  const server = createHttpServer({ keepAliveTimeout: 60_000 }, listener);
  server.on('connection', (socket: Socket) => {
    const index = heard.push(Buffer.alloc(0)) - 1;
    socket.on('data', (bytes: Buffer) => {
      heard[index] = Buffer.concat([heard[index] ?? Buffer.alloc(0), bytes]);
    });
  });
  return listening(server, heard);
}

async function listening(server: Server, heard: Buffer[]): Promise<Origin> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  return {
    port,
    heard,
    async close() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}

/** Answers every request on a connection with 200 and a body that says how many there were. */
export function answerPlainly(socket: Socket): void {
  let count = 0;
  socket.on('data', (bytes: Buffer) => {
    const requests = bytes.toString('latin1').split(/^[A-Z]+ \S+ HTTP\/1\.1\r$/m).length - 1;
    for (let index = 0; index < requests; index += 1) {
      count += 1;
      socket.write(`HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n${count}`);
    }
  });
  socket.on('end', () => socket.end());
}
