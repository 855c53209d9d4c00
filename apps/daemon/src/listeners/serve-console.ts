import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Config } from '@palyra/config';
import type { Logger } from '@palyra/primitives';
import { CONSOLE_PAGE, CONSOLE_POLICY } from '../console/console-page.ts';
import type { ConsoleSessions, SessionHalves } from '../console/console-sessions.ts';
import { DaemonError } from '../daemon-error.ts';
import { answer } from './answer.ts';
import { boundConnections } from './bound-connections.ts';
import { type ListenPlace, renderPlace } from './listen-place.ts';

export interface ConsoleListener {
  readonly address: string;
  readonly connections: number;
  close(): Promise<void>;
}

export interface ConsoleDeps {
  /** On loopback. */
  readonly place: ListenPlace;
  readonly sessions: ConsoleSessions;
  readonly limits: Config['limits'];
  readonly logger: Pick<Logger, 'error'>;
}

const HEADER_BYTES = 16 * 1024;
const BODY_BYTES = 4 * 1024;
const PATIENCE_MS = 10_000;

/** For a browser on this host. Throws `daemon.cannot_listen`. */
export async function serveConsole(deps: ConsoleDeps): Promise<ConsoleListener> {
  const { place, limits, logger } = deps;
  const server = createServer({
    maxHeaderSize: HEADER_BYTES,
    headersTimeout: PATIENCE_MS,
    requestTimeout: PATIENCE_MS,
  });
  const connections = boundConnections(server, limits);
  try {
    server.listen(place);
    await once(server, 'listening');
  } catch (cause) {
    throw new DaemonError('daemon.cannot_listen', `The console cannot be served on ${renderPlace(place)}.`, {
      fix: 'Choose another port in daemon.console.',
      cause,
    });
  }
  const { port } = server.address() as AddressInfo;
  const hosts = hostsOf(place.host, port);
  server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    serve(request, response, { ...deps, hosts, port }).catch((error: unknown) => {
      logger.error({ error }, 'A request of the console failed.');
      if (response.headersSent) response.destroy();
      else answer(response, { status: 500, text: 'Something went wrong.\n' });
    });
  });
  return {
    address: renderPlace({ host: place.host, port }),
    get connections() {
      return connections.count;
    },
    async close() {
      const closed = once(server, 'close');
      server.close();
      connections.endAll();
      await closed;
    },
  };
}

/** SECURITY: T-37 — a name that somebody else resolves to this host is none of ours: DNS rebinding ends here. */
function hostsOf(host: string, port: number): readonly string[] {
  return [renderPlace({ host, port }), `localhost:${port}`];
}

interface Serving extends ConsoleDeps {
  readonly hosts: readonly string[];
  readonly port: number;
}

async function serve(request: IncomingMessage, response: ServerResponse, serving: Serving): Promise<void> {
  if (!isOurs(request, serving)) return answer(response, { status: 403, text: 'This is not for you.\n' });
  switch (`${request.method} ${request.url}`) {
    case 'GET /healthz':
      return answer(response, { status: 200, text: 'ok\n' });
    case 'GET /':
      return answer(response, {
        status: 200,
        text: CONSOLE_PAGE,
        type: 'text/html; charset=utf-8',
        headers: { 'content-security-policy': CONSOLE_POLICY, 'cross-origin-opener-policy': 'same-origin' },
      });
    case 'POST /session':
      return enter(request, response, serving);
    case 'GET /session':
      return whoIs(request, response, serving);
    case 'DELETE /session':
      serving.sessions.leave(halvesOf(request, serving.port));
      return answer(response, { status: 204, text: '' });
    default:
      return answer(response, { status: 404, text: 'There is nothing here.\n' });
  }
}

/** SECURITY: T-37 — by host and origin, exactly: no page of elsewhere makes a browser change something here. */
function isOurs({ headers, method }: IncomingMessage, { hosts }: Serving): boolean {
  const { host = '', origin } = headers;
  if (!hosts.includes(host)) return false;
  const site = headers['sec-fetch-site'];
  const isReading = method === 'GET' || method === 'HEAD';
  if (isReading && origin === undefined) return site === undefined || site === 'same-origin' || site === 'none';
  return origin === `http://${host}`;
}

async function enter(request: IncomingMessage, response: ServerResponse, { sessions, port }: Serving): Promise<void> {
  const code = await readCode(request);
  const session = code === undefined ? undefined : await sessions.enter(code);
  if (session === undefined)
    return json(response, { status: 401, body: { error: 'The link was used already, or is too old.' } });
  // Not `__Host-`: that needs TLS. The name has the port, or two consoles of one host would sign each other out.
  const cookie = `${cookieName(port)}=${session.cookie}; HttpOnly; SameSite=Strict; Path=/`;
  const body = { key: session.key, principal: session.device.principal };
  json(response, { status: 200, body, headers: { 'set-cookie': cookie } });
}

async function whoIs(request: IncomingMessage, response: ServerResponse, { sessions, port }: Serving): Promise<void> {
  const device = await sessions.find(halvesOf(request, port));
  if (device === undefined) return json(response, { status: 401, body: { error: 'Nobody is signed in here.' } });
  json(response, { status: 200, body: { principal: device.principal, device: device.id } });
}

function halvesOf({ headers }: IncomingMessage, port: number): SessionHalves {
  const pairs = (headers.cookie ?? '').split(/; */).map((pair) => pair.split('='));
  const key = headers['x-palyra-key'];
  return {
    cookie: pairs.find(([name]) => name === cookieName(port))?.[1] ?? '',
    key: typeof key === 'string' ? key : '',
  };
}

function cookieName(port: number): string {
  return `palyra_${port}`;
}

/** SECURITY: T-39 — a few bytes are read, and what is more is not waited for. */
async function readCode(request: IncomingMessage): Promise<string | undefined> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length > BODY_BYTES) return undefined;
    chunks.push(chunk);
  }
  try {
    const { code } = Object(JSON.parse(Buffer.concat(chunks).toString('utf8'))) as { code?: unknown };
    return typeof code === 'string' ? code : undefined;
  } catch {
    return undefined;
  }
}

interface JsonAnswer {
  readonly status: number;
  readonly body: object;
  readonly headers?: Readonly<Record<string, string>>;
}

function json(response: ServerResponse, { status, body, headers = {} }: JsonAnswer): void {
  answer(response, { status, text: `${JSON.stringify(body)}\n`, type: 'application/json', headers });
}
