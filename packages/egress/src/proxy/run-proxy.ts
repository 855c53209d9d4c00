import { createServer, type Server, Socket } from 'node:net';
import { createFrameReader } from '../wire/frames.ts';
import { createOwnAddresses } from './own-addresses.ts';
import { createProxyServer } from './proxy-server.ts';
import type { ResolveName } from './resolve-name.ts';

export interface RunProxyDeps {
  readonly resolve: ResolveName;
}

/**
 * The proxy as a process: frames on stdin and stdout, listeners over Node's channel to whoever started it (the launcher,
 * which has them from the sandboxes). It ends when either of them is gone: then nobody answers for it.
 */
export function runProxy({ resolve }: RunProxyDeps): void {
  const now = (): number => Date.now();
  // Not `process.stdout`, which stands still on a pipe that palyrad is slow to read, and everybody's connections with it.
  const output = new Socket({ fd: 1, readable: false, writable: true });
  const proxy = createProxyServer({
    resolve,
    isOwnAddress: createOwnAddresses(now),
    now,
    send: (bytes) => void output.write(bytes),
    onFault: complain,
  });
  const leave = (): void => {
    proxy.close();
    process.exit(0);
  };
  process.on('uncaughtException', (error) => {
    // SECURITY: T-22 — what is broken decides nothing: palyrad sees the end and starts another.
    complain(error);
    process.exit(1);
  });
  process.on('message', (message: unknown, handle: unknown) => {
    const label = (message as { label?: unknown } | null)?.label;
    const server = asServer(handle);
    if (typeof label === 'string' && server !== undefined) proxy.takeListener(label, server);
    else server?.close();
  });
  process.once('disconnect', leave);
  const read = createFrameReader();
  process.stdin.on('data', (chunk: Buffer) => {
    for (const frame of read(chunk)) proxy.hear(frame);
  });
  process.stdin.once('end', leave);
  output.once('error', leave);
}

/** Node makes a server of a handle that says so, and leaves others as they are. */
function asServer(handle: unknown): Server | undefined {
  if (handle === undefined || handle === null) return undefined;
  const isServer = typeof handle === 'object' && 'listen' in handle && 'getConnections' in handle;
  const server = isServer ? (handle as Server) : createServer().listen(handle);
  // Who has said everything may still want to hear the answer. Node reads these when a connection comes in.
  return Object.assign(server, { allowHalfOpen: true, noDelay: true });
}

/** SECURITY: T-24 — where it happened and no values: this goes to a log. */
function complain(error: unknown): void {
  const { name, stack = '' } = error instanceof Error ? error : { name: 'Error' };
  const places = stack.split('\n').filter((line) => line.trimStart().startsWith('at '));
  process.stderr.write(`${[name, ...places.slice(0, 8)].join('\n')}\n`);
}
