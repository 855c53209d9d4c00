import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';
import {
  createEgress,
  DEFAULT_EGRESS_LIMITS,
  type Egress,
  type EgressCall,
  type GateLink,
  type OpenedEgress,
  proxyProgram,
} from '@palyra/egress';
import { systemClock } from '@palyra/primitives';
import { type CaptureLogger, createCaptureLogger } from '@palyra/testkit';

/** The proxy as its own process, as the launcher starts it: frames on its standard streams, listeners over its channel. */
export interface ProxyGate extends GateLink {
  readonly process: ChildProcess;
  /** What the launcher does with a sandbox's listener. */
  sendListener(label: string, server: Server): Promise<void>;
}

export interface ProxyPlace {
  readonly egress: Egress<ProxyGate>;
  readonly logger: CaptureLogger;
  /** Every byte that the proxy was told or has said, for looking for secrets in them. */
  readonly wire: { readonly said: Buffer[]; readonly errors: Buffer[] };
  close(): Promise<void>;
}

/** `program` is the path of another proxy program, such as one with a resolver of a test. */
export async function startProxyPlace(program?: string): Promise<ProxyPlace> {
  const logger = createCaptureLogger();
  const wire = { said: [] as Buffer[], errors: [] as Buffer[] };
  const egress = createEgress({
    openGate: async () => openGate(program, wire),
    logger: logger.logger,
    clock: systemClock,
  });
  // It is there before the first test begins, or that test would have left it behind.
  const first = await egress.open({ ...CALL, label: 'the-first-call-of-all' });
  await first.close();
  return { egress, logger, wire, close: () => egress.close() };
}

function openGate(program: string | undefined, wire: ProxyPlace['wire']): ProxyGate {
  const { argv, environment } = proxyProgram();
  const [node = '', ...words] = program === undefined ? argv : [...argv.slice(0, -1), program];
  const child = spawn(node, words, { stdio: ['pipe', 'pipe', 'pipe', 'ipc'], env: environment, cwd: '/' });
  const { stdin, stdout, stderr } = child;
  if (stdin === null || stdout === null || stderr === null) throw new Error('The proxy has no streams.');
  stdin.on('error', () => {});
  stdout.on('data', (bytes: Buffer) => wire.said.push(bytes));
  stderr.on('data', (bytes: Buffer) => wire.errors.push(bytes));
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()));
  return {
    process: child,
    ended,
    async write(bytes) {
      if (!stdin.write(bytes)) await once(stdin, 'drain');
    },
    onOutput: (listener) => void stdout.on('data', listener),
    sendListener: (label, server) =>
      new Promise((resolve, reject) => {
        child.send({ label }, server, (error) => (error === null ? resolve() : reject(error)));
      }),
    async close() {
      stdin.end();
      await ended;
    },
  };
}

export interface OpenedCall {
  readonly opened: OpenedEgress<ProxyGate>;
  /** Where the tool of this call would find its proxy. */
  readonly port: number;
  dial(): Promise<Socket>;
  close(): ReturnType<OpenedEgress['close']>;
}

/** A call with a listener of its own, as a sandbox has one. */
export async function openCall(place: ProxyPlace, call: Partial<EgressCall>): Promise<OpenedCall> {
  const label = randomBytes(16).toString('hex');
  const opened = await place.egress.open({ ...CALL, ...call, label });
  const server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  await opened.gate.sendListener(label, server);
  // From here on the proxy alone accepts.
  server.close();
  return {
    opened,
    port,
    async dial() {
      const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
      await once(socket, 'connect');
      return socket;
    },
    close: () => opened.close(),
  };
}

export const CALL: Omit<EgressCall, 'label'> = {
  mode: 'strict',
  rules: [],
  privateRanges: [],
  limits: DEFAULT_EGRESS_LIMITS,
};

/** Everything that comes until the other side ends. */
export async function readAll(socket: Socket): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of socket) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString('latin1');
}

/** Sends raw bytes and gives back everything that is answered. */
export async function tell(call: OpenedCall, ...pieces: readonly (string | Uint8Array)[]): Promise<string> {
  const socket = await call.dial();
  socket.on('error', () => {});
  for (const piece of pieces) socket.write(typeof piece === 'string' ? Buffer.from(piece, 'latin1') : piece);
  socket.end();
  return readAll(socket);
}
