/**
 * T-22: traffic leaves a strict sandbox without the proxy, or as somebody else's: by raw TCP, UDP, abstract and packet sockets,
 * through a relay of another call, by taking over the listener that was passed out, by a descriptor that was left inside, or
 * after the gate is gone. T-19, T-43: nothing of the way out stays in the sandbox. T-16: the gate does not outlive the daemon.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startDaemon } from './sandbox-daemon.ts';
import { describeBothWays, processIds, python, statusOf, tierC, uniqueMark, until } from './sandboxed.ts';

const SECRET = uniqueMark();

/** Which labels a connection to the proxy, and to other places, comes back with. */
const CONNECT = `
import socket, sys
def ask(address):
  try:
    with socket.create_connection(address, 5) as s:
      s.sendall(b'GET http://example.test/ HTTP/1.1\\r\\n\\r\\n')
      return s.makefile('rb').read().split(b'\\r\\n\\r\\n')[-1].decode()
  except OSError as error: return error.__class__.__name__
print(ask(('127.0.0.1', 3128)), flush=True)
`;

/** Every other way to somewhere that there is on the host, which stands for everywhere. */
const OTHER_WAYS = `
import socket, sys
tcp, udp, name = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
def attempt(what, act):
  try: print(what, act() or 'nothing')
  except OSError as error: print(what, 'failed')
def over_tcp(host, family):
  with socket.socket(family) as s:
    s.settimeout(5)
    s.connect((host, tcp))
    return s.recv(100).decode()
def over_udp(host):
  with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
    s.settimeout(0.5)
    s.sendto(b'ask', (host, udp))
    return s.recv(100).decode()
def abstract():
  with socket.socket(socket.AF_UNIX) as s:
    s.connect('\\0' + name)
    return 'connected'
attempt('tcp', lambda: over_tcp('127.0.0.1', socket.AF_INET))
attempt('tcp-mapped', lambda: over_tcp('::ffff:127.0.0.1', socket.AF_INET6))
attempt('udp', lambda: over_udp('127.0.0.1'))
attempt('abstract', abstract)
attempt('icmp', lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM, socket.IPPROTO_ICMP).sendto(b'\\x08\\0\\xf7\\xff\\0\\0\\0\\0', ('127.0.0.2', 0)) and 'sent')
attempt('raw', lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW) and 'opened')
attempt('packet', lambda: socket.socket(17, socket.SOCK_RAW) and 'opened')
attempt('vsock', lambda: socket.socket(40, socket.SOCK_STREAM) and 'opened')
`;

/** To be the one that is connected to. */
const TAKE_OVER = `
import socket
def take(family, address, *options):
  s = socket.socket(family)
  for option in options: s.setsockopt(socket.SOL_SOCKET, option, 1)
  try:
    s.bind((address, 3128))
    s.listen()
    return 'taken'
  except OSError: return 'refused'
REUSE, PORT = socket.SO_REUSEADDR, socket.SO_REUSEPORT
for address in ('127.0.0.1', '0.0.0.0'):
  for options in ((), (REUSE,), (PORT,), (REUSE, PORT)): print(take(socket.AF_INET, address, *options))
print(take(socket.AF_INET6, '::ffff:127.0.0.1', REUSE, PORT))
`;

const OPEN = `
import os
def is_open(fd):
  try: return os.fstat(fd) is not None
  except OSError: return False
print([fd for fd in range(4096) if is_open(fd)])
of_init = [os.readlink('/proc/1/fd/' + fd) for fd in os.listdir('/proc/1/fd')]
print([each for each in of_init if each.startswith('socket')])
`;

/** Passes on to the proxy whoever connects to port 8080, and says so. */
const RELAY = `
import socket, threading
server = socket.socket()
server.bind(('0.0.0.0', 8080))
server.listen()
print('relaying', flush=True)
while True:
  got, _ = server.accept()
  out = socket.create_connection(('127.0.0.1', 3128))
  out.sendall(got.recv(65536))
  while data := out.recv(65536): got.sendall(data)
  got.close()
`;

const ASK_RELAY = CONNECT.replace("print(ask(('127.0.0.1', 3128))", "print(ask(('127.0.0.1', 8080))");

describeBothWays((place) => {
  let gateSaid: () => string;
  let tcp: Server;
  let udp: Socket;
  let abstract: ChildProcess;
  const asked: string[] = [];

  beforeAll(async () => {
    gateSaid = await place().daemon.openGate();
    tcp = createServer((connection) => {
      asked.push('tcp');
      connection.end(SECRET);
    }).listen(0, '127.0.0.1');
    udp = createSocket('udp4').on('message', (_, { port }) => {
      asked.push('udp');
      udp.send(SECRET, port, '127.0.0.1');
    });
    udp.bind(0, '127.0.0.1');
    const listening = Promise.all([once(tcp, 'listening'), once(udp, 'listening')]);
    const serve = `import socket, sys\ns = socket.socket(socket.AF_UNIX)\ns.bind('\\0${SECRET}')\ns.listen()\nprint('ready', flush=True)\nsys.stdin.read()`;
    abstract = spawn('python3', ['-c', serve], { stdio: ['pipe', 'pipe', 'inherit'] });
    if (abstract.stdout !== null) await once(abstract.stdout, 'data');
    await listening;
  });
  afterAll(async () => {
    tcp.close();
    udp.close();
    abstract.stdin?.end();
    await once(abstract, 'close');
  });

  const profile = () =>
    tierC(place(), { unixSockets: 'allowed', egress: { mode: 'strict', hosts: ['example.test:80'] } });
  const run = (text: string, label: string, ...more: readonly string[]) =>
    place().daemon.run(python(text, ...more), profile(), { label });
  const tcpPort = () => String((tcp.address() as { port: number }).port);

  test('the proxy is reached, as the call that it is, and two at once are two', async () => {
    const labels = ['one', 'two', 'three'];
    const ended = await Promise.all(labels.map((label) => run(CONNECT, label)));
    expect(ended.map(({ stdout }) => stdout.trim())).toEqual(labels);
    expect(ended[0]?.outcome).toMatchObject({ facts: { listener: 'passed', network: 'isolated' } });
  });

  test('there is no other way, and nobody was asked', async () => {
    const { stdout } = await run(OTHER_WAYS, 'elsewhere', tcpPort(), String(udp.address().port), SECRET);
    const found = Object.fromEntries(
      stdout
        .trim()
        .split('\n')
        .map((line) => line.split(' ')),
    );
    // To its own loopback a ping may be sent, and nothing but the sandbox is there.
    const { icmp, ...others } = found;
    expect(others).toEqual(
      Object.fromEntries(
        ['tcp', 'tcp-mapped', 'udp', 'abstract', 'raw', 'packet', 'vsock'].map((way) => [way, 'failed']),
      ),
    );
    expect(icmp).toMatch(/^(?:sent|failed)$/);
    expect(asked).toEqual([]);
  });

  test('nothing of the listener is left inside, neither with the tool nor with init', async () => {
    const { stdout } = await run(OPEN, 'open');
    expect(stdout).toBe('[0, 1, 2]\n[]\n');
  });

  test('nobody inside takes the port', async () => {
    const { stdout } = await run(TAKE_OVER, 'taken');
    expect(stdout).toBe('refused\n'.repeat(9));
  });

  test('a relay inside is the call that it is in, and out of reach for every other one', async () => {
    const relay = place().daemon.start(python(RELAY), profile(), { label: 'relay' });
    await until('the relay listens', () => relay.text().includes('relaying'));
    const relayInside = `${RELAY.replace('while True:', 'def serve():')}\nthreading.Thread(target=serve, daemon=True).start()\n`;
    expect((await run(`${relayInside}${ASK_RELAY}`, 'relayed')).stdout).toBe('relaying\nrelayed\n');
    expect((await run(ASK_RELAY, 'outsider')).stdout).toBe('ConnectionRefusedError\n');
    relay.cancel();
    await relay.ended;
  });

  test.each([
    ['a quote', 'a"},"x":{"'],
    ['a line', 'a\n{"cmd":"NODE_x"}'],
    ['nothing', ''],
    ['too much', 'x'.repeat(129)],
  ])('a label with %s in it is refused before anything runs', async (_, label) => {
    const { kind, detail } = await run(CONNECT, label);
    expect([kind, detail]).toEqual(['refused', 'sandbox.invalid_command']);
    expect(gateSaid()).not.toContain('NODE_x');
  });

  test('hosts without a way out are refused, and without hosts there is no listener to be found', async () => {
    const { daemon } = place();
    expect((await daemon.run(python(CONNECT), profile())).detail).toBe('sandbox.unsupported');
    const offline = await daemon.run(python(CONNECT), tierC(place()));
    expect(offline).toMatchObject({ stdout: 'ConnectionRefusedError\n', outcome: { facts: { listener: 'none' } } });
  });

  test('the gate is nobody else’s, and has no privileges and no variables', async () => {
    const [, pid = '', uid = '', variables] = /ready (\d+) (\d+) (.*)/.exec(gateSaid()) ?? [];
    const { outcome } = await run('pass', 'whose');
    const [tool] = 'facts' in outcome ? (outcome.facts?.processes ?? []) : [];
    const isRoots = place().uid === 0;
    expect(Number(uid) === place().uid).toBe(!isRoots);
    expect(isRoots && Number(uid) === tool?.uid).toBe(false);
    expect(statusOf(Number(pid), 'Uid')).toBe(Array.from({ length: 4 }, () => uid).join('\t'));
    expect([statusOf(Number(pid), 'NoNewPrivs'), statusOf(Number(pid), 'CapEff')]).toEqual(['1', '0'.repeat(16)]);
    expect(variables).toBe('');
  });

  test('a gate ends with the daemon that has it (T-16)', async () => {
    const daemon = await startDaemon(place());
    const said = await daemon.openGate();
    await until('the gate is ready', () => said().includes('ready'));
    const pid = Number(/ready (\d+)/.exec(said())?.[1]);
    expect(processIds()).toContain(pid);
    await daemon.kill();
    await until('the gate is gone', () => !processIds().includes(pid));
  });

  // The last one: there is no gate afterwards.
  test('a gate that is killed leaves refused connections, and refused calls', async () => {
    const { daemon, workspace } = place();
    const go = join(workspace, 'the-gate-is-gone');
    const patient = `import os, sys, time\nwhile not os.path.exists(sys.argv[1]): time.sleep(0.005)\n${CONNECT}`;
    const waiting = daemon.start(python(patient, go), profile(), { label: 'left' });
    await until('the listener is with the gate', () => gateSaid().includes('listener left'));
    const gatePid = Number(/ready (\d+)/.exec(gateSaid())?.[1]);
    process.kill(gatePid, 'SIGKILL');
    await until('the gate is gone', () => gateSaid().includes('ended') && !processIds().includes(gatePid));
    writeFileSync(go, '');
    expect((await waiting.ended).stdout).toBe('ConnectionRefusedError\n');
    expect((await run(CONNECT, 'after')).detail).toBe('sandbox.gate_closed');
  });
});
