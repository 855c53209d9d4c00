/**
 * T-23: a tool, or palyrad on its behalf, is led to an address that is nobody's business: by every spelling of it, by a
 * name that resolves to it, by a redirect, by a tunnel. A loopback server stands for the metadata service of a cloud; its
 * port is not among those that the operator opened. T-21, T-25, T-51: by requests that can be read in two ways.
 */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type NetworkHouse, openNetworkHouse, type StandIn, standIn } from '../integration/network-house.ts';

let web: StandIn;
let metadata: StandIn;
let house: NetworkHouse;

beforeAll(async () => {
  metadata = await standIn((_request, response) => void response.end('credentials'));
  web = await standIn((request, response) => {
    if (request.url === '/redirect') {
      response.writeHead(302, { location: `http://metadata.example:${metadata.port}/latest` }).end();
    } else response.end('fine');
  });
  house = await openNetworkHouse({ names: ['web.example', 'metadata.example'], ports: [web.port] });
});
afterAll(async () => {
  await house.close();
  await web[Symbol.asyncDispose]();
  await metadata[Symbol.asyncDispose]();
});

/** Whatever is asked is answered with yes: what is refused then is refused by what no human can allow. */
async function withYes(tool: string, input: object) {
  return house.run.call({
    tool,
    input: JSON.stringify(input),
    onEvent: (event) => {
      if (event.kind === 'approval_requested') void house.answer({ scope: 'once' }).catch(() => undefined);
    },
  });
}

const SPELLINGS = [
  '127.0.0.1',
  '2130706433',
  '0x7f000001',
  '0177.0.0.1',
  '127.1',
  '127.0.0.1.',
  '[::1]',
  '[::ffff:127.0.0.1]',
  '[::ffff:7f00:1]',
  '[64:ff9b::7f00:1]',
  '[2002:7f00:1::]',
  'localhost',
  'LOCALHOST.',
  'metadata.example',
  'METADATA.example.',
];

test('every spelling of it, through HTTP, a tunnel and SOCKS, in the open mode, after a yes', async () => {
  const requests = SPELLINGS.flatMap((host) => {
    const url = `'http://${host}:${metadata.port}/'`;
    return [
      `curl -s -m 20 --noproxy '' -o /dev/null ${url}`,
      `curl -s -m 20 --noproxy '' -p -o /dev/null ${url}`,
      `curl -s -m 20 --noproxy '' --socks5-hostname 127.0.0.1:3128 -o /dev/null ${url}`,
    ];
  });
  const script = `${requests.join('\n')}\necho end`;
  const result = await withYes('palyra.process.run', { argv: ['bash', '-c', script], egress: 'none' });
  expect(result.outcome.stdout).toBe('end\n');
  expect(metadata.connections()).toBe(0);
  const lines = await house.connections(result);
  expect(lines.length).toBeGreaterThanOrEqual(SPELLINGS.length);
  // `localhost` is a name that the proxy finds nowhere; everything else is denied.
  expect(lines.filter(({ outcome, code }) => outcome !== 'denied' && code !== 'egress.not_resolved')).toEqual([]);
});

test('a name that was allowed by a human, and leads there', async () => {
  const named = { network: [`metadata.example:${metadata.port}`] };
  const argv = ['curl', '-sS', `http://metadata.example:${metadata.port}/`];
  const result = await withYes('palyra.process.run', { argv, ...named });
  expect(result.outcome.output).toMatchObject({
    denied_connections: [{ code: 'egress.address_not_allowed', rule: '' }],
  });
  expect(metadata.connections()).toBe(0);
});

test('a redirect, followed by curl in the box and by palyra.http.fetch', async () => {
  const url = `http://web.example:${web.port}/redirect`;
  const curl = await withYes('palyra.process.run', { argv: ['curl', '-sSL', url] });
  const fetched = await withYes('palyra.http.fetch', { url });
  for (const result of [curl, fetched]) {
    expect(await house.connections(result)).toMatchObject([
      { host: 'web.example', outcome: 'allowed' },
      { host: 'metadata.example', outcome: 'denied', code: 'egress.address_not_allowed' },
    ]);
  }
  expect(fetched.outcome).toMatchObject({ kind: 'failed', code: 'egress.address_not_allowed' });
  expect(metadata.connections()).toBe(0);
});

const SMUGGLE = `
import socket, sys
port, inner = sys.argv[1], sys.argv[2]
host = 'web.example:' + port
hidden = 'GET http://metadata.example:%s/hidden HTTP/1.1\\r\\nHost: metadata.example:%s\\r\\n\\r\\n' % (inner, inner)
chunked = '0\\r\\n\\r\\n' + hidden
def head(line, *fields): return '\\r\\n'.join((line,) + fields) + '\\r\\n\\r\\n'
to = 'http://' + host
tries = [
  head('POST ' + to + '/a HTTP/1.1', 'Host: ' + host, 'Content-Length: %d' % len(chunked), 'Transfer-Encoding: chunked') + chunked,
  head('POST ' + to + '/b HTTP/1.1', 'Host: ' + host, 'Content-Length: 4', 'Content-Length: %d' % (4 + len(hidden))) + 'aaaa' + hidden,
  head('POST ' + to + '/c HTTP/1.1', 'Host: ' + host, 'Transfer-Encoding: xchunked') + chunked,
  head('GET ' + to + '/d HTTP/1.1', 'Host: metadata.example:' + inner),
  head('GET ' + to + '/e HTTP/1.1', 'Host: ' + host, 'Host: metadata.example:' + inner),
  head('GET ' + to + '/f\\r\\nX: y HTTP/1.1', 'Host: ' + host),
  head('GET http://metadata.example:%s@%s/g HTTP/1.1' % (inner, host), 'Host: ' + host),
  head('GET http://%s#@metadata.example:%s/ HTTP/1.1' % (host, inner), 'Host: ' + host),
  head('GET ' + to + '/h HTTP/1.1', 'Host: ' + host, 'X: a\\r\\n b: folded', 'Connection: close, Host'),
  'GET ' + to + '/i HTTP/1.1\\nHost: ' + host + '\\n\\n' + hidden,
  head('CONNECT ' + host + ' HTTP/1.1', 'Host: metadata.example:' + inner) + hidden,
  head('GET ' + to + '/j HTTP/1.1', 'Host: ' + host, 'X: ' + 'x' * 300000),
  head('GET /k HTTP/1.1', 'Host: metadata.example:' + inner),
]
for each in tries:
  s = socket.create_connection(('127.0.0.1', 3128), 10)
  s.settimeout(10)
  try:
    s.sendall(each.encode())
    s.shutdown(socket.SHUT_WR)
    while s.recv(65536): pass
  except OSError: pass
  s.close()
print('end')
`;

test('requests that can be read in two ways: the other one is never made', async () => {
  const argv = ['python3', '-c', SMUGGLE, String(web.port), String(metadata.port)];
  const result = await withYes('palyra.process.run', { argv, network: [`web.example:${web.port}`] });
  expect(result.outcome.stdout).toBe('end\n');
  expect(metadata.connections()).toBe(0);
  expect(web.seen.filter((line) => line.includes('hidden') || line.includes('metadata'))).toEqual([]);
  expect((await house.connections(result)).some(({ outcome }) => outcome === 'denied')).toBe(true);
  expect(await house.verdict()).toBe('sound');
});
