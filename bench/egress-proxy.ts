import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { Agent, createServer as createHttpServer, request } from 'node:http';
import { connect, createServer, type Server, type Socket } from 'node:net';
import {
  createEgress,
  DEFAULT_EGRESS_LIMITS,
  type Egress,
  type GateLink,
  parseHostRule,
  proxyProgram,
} from '@palyra/egress';
import { createLogger, systemClock } from '@palyra/primitives';

/** What the rows about the proxy alone share: an origin, our proxy and a bare one, each in a process of its own. */
export interface ProxyBench {
  readonly originPort: number;
  readonly sourcePort: number;
  readonly proxyPort: number;
  readonly pipePort: number;
  close(): Promise<void>;
}

interface BenchGate extends GateLink {
  readonly process: ChildProcess;
}

const HOST = 'origin.test';
/** One operation of the throughput rows. */
export const TUNNEL_BYTES: number = 32 * 2 ** 20;

export async function startProxyBench(): Promise<ProxyBench> {
  const origin = await listen(createHttpServer((_request, response) => response.end('hello')));
  const source = await listen(createServer(pourBytes));
  const egress = createEgress<BenchGate>({ openGate, logger: createLogger({ level: 'error' }), clock: systemClock });
  const proxyPort = await openListener(egress, [origin.port, source.port]);
  const pipe = await startPipeProxy(source.port);
  return {
    originPort: origin.port,
    sourcePort: source.port,
    proxyPort,
    pipePort: pipe.port,
    async close() {
      await egress.close();
      pipe.process.kill();
      origin.server.close();
      source.server.close();
    },
  };
}

/** Sends so many bytes to whoever sends one. */
function pourBytes(socket: Socket): void {
  const piece = Buffer.alloc(64 * 1024, 7);
  socket.on('error', () => {});
  socket.once('data', () => {
    let left = TUNNEL_BYTES;
    const sendOn = (): void => {
      while (left > 0) {
        left -= piece.length;
        if (!socket.write(piece)) return;
      }
      socket.end();
    };
    socket.on('drain', sendOn);
    sendOn();
  });
}

async function openListener(egress: Egress<BenchGate>, ports: readonly number[]): Promise<number> {
  const label = randomBytes(16).toString('hex');
  const opened = await egress.open({
    label,
    mode: 'strict',
    rules: [parseHostRule(`${HOST}:${ports.join(',')}`)],
    privateRanges: ports.map((port) => `127.0.0.1:${port}`),
    pinned: { [HOST]: ['127.0.0.1'] },
    limits: { ...DEFAULT_EGRESS_LIMITS, bytesIn: 2 ** 50, attempts: 2 ** 30 },
  });
  const { server, port } = await listen(createServer());
  await new Promise<void>((resolve, reject) => {
    opened.gate.process.send({ label }, server, (error) => (error === null ? resolve() : reject(error)));
  });
  server.close();
  return port;
}

async function openGate(): Promise<BenchGate> {
  const { argv, environment } = proxyProgram();
  const [node = '', ...words] = argv;
  const child = spawn(node, words, { stdio: ['pipe', 'pipe', 'inherit', 'ipc'], env: environment });
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()));
  return {
    process: child,
    ended,
    async write(bytes) {
      if (child.stdin?.write(bytes) === false) await once(child.stdin, 'drain');
    },
    onOutput: (listener) => void child.stdout?.on('data', listener),
    async close() {
      child.stdin?.end();
      await ended;
    },
  };
}

/** The least that a tunnel can be in Node: it answers CONNECT without reading it, and joins two sockets by `pipe`. */
const PIPE_PROXY = `
const { createServer, connect } = require('node:net');
const server = createServer({ noDelay: true }, (client) => {
  client.once('data', () => {
    const host = connect({ host: '127.0.0.1', port: Number(process.argv[1]), noDelay: true }, () => {
      client.write('HTTP/1.1 200 OK\\r\\n\\r\\n');
      client.pipe(host);
      host.pipe(client);
    });
    host.on('error', () => client.destroy());
    client.on('error', () => host.destroy());
  });
});
server.listen(0, '127.0.0.1', () => process.stdout.write(server.address().port + '\\n'));
`;

async function startPipeProxy(target: number): Promise<{ readonly process: ChildProcess; readonly port: number }> {
  const child = spawn(process.execPath, ['-e', PIPE_PROXY, `${target}`], { stdio: ['ignore', 'pipe', 'inherit'] });
  const [line] = (await once(child.stdout, 'data')) as [Buffer];
  return { process: child, port: Number(line.toString()) };
}

async function listen(server: Server): Promise<{ readonly server: Server; readonly port: number }> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { server, port: (server.address() as { port: number }).port };
}

/** One request at a time on a connection that stays. */
export function keptAlive({ port, path }: { readonly port: number; readonly path: string }): {
  operation(): Promise<void>;
  close(): void;
} {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const headers = { host: /^http:\/\/([^/]*)/.exec(path)?.[1] ?? `127.0.0.1:${port}` };
  return {
    operation: () =>
      new Promise((resolve, reject) => {
        const asked = request({ host: '127.0.0.1', port, path, agent, headers }, (response) => {
          response.resume();
          response.once('end', () =>
            response.statusCode === 200 ? resolve() : reject(new Error(`${response.statusCode}`)),
          );
        });
        asked.once('error', reject);
        asked.end();
      }),
    close: () => agent.destroy(),
  };
}

/** `TUNNEL_BYTES` through a new tunnel. */
export async function pour(port: number, target: number): Promise<void> {
  const socket = connect({ host: '127.0.0.1', port });
  socket.write(`CONNECT ${HOST}:${target} HTTP/1.1\r\n\r\n`);
  await once(socket, 'data');
  let bytes = 0;
  socket.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
  });
  socket.write('pour\n');
  await once(socket, 'close');
  if (bytes !== TUNNEL_BYTES) throw new Error(`${bytes} bytes came instead of ${TUNNEL_BYTES}.`);
}

export function proxiedPath(port: number): string {
  return `http://${HOST}:${port}/`;
}
