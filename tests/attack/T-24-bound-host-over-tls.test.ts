/**
 * T-24: a tool gets at the credential that is put on its requests over TLS, or at the authority by which that is done: in its
 * box, in another call's, or on the host. And TLS of hosts that nothing is bound to is read along.
 */
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { dirname, join } from 'node:path';
import { parseHostRule } from '@palyra/egress';
import type { CredentialQuestion } from '@palyra/gateway';
import { Secret } from '@palyra/primitives';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createCallAuthority } from '../../packages/egress/src/proxy/call-authority.ts';
import { type NetworkHouse, openNetworkHouse } from '../integration/network-house.ts';

const SECRET = 'Bearer s3cr3t-of-the-bound-host';
const SYSTEM_BUNDLE = '/etc/ssl/certs/ca-certificates.crt';
const BOUND = 'bound.example';
const OTHER = 'other.example';

/** What the hosts themselves prove their names with. */
const origins = createCallAuthority([BOUND, OTHER].map(parseHostRule), Date.now());
const trustedBefore = readFileSync(SYSTEM_BUNDLE);
const asked: CredentialQuestion[] = [];
let isBound = true;
let seen: string[] = [];
let server: Server;
let port: number;
let house: NetworkHouse;
let base: string;
const authorities = `/tmp/palyra-origins-${process.pid}.pem`;

beforeAll(async () => {
  server = createServer({ SNICallback: (name, done) => done(null, origins.contextFor(name)) }, (request, response) => {
    const { url = '', headers } = request;
    seen.push(`${headers.host?.split(':')[0]} ${url.split('?')[0]} ${headers.authorization ?? '-'}`);
    if (url.includes('/info/refs')) response.end(`${'a'.repeat(40)}\trefs/heads/main\n`);
    else if (url.endsWith('/HEAD')) response.end('ref: refs/heads/main\n');
    else response.end(`hello ${url}\n`);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  ({ port } = server.address() as AddressInfo);
  writeFileSync(authorities, origins.caPem);
  house = await openNetworkHouse(
    { names: [BOUND, OTHER], ports: [port], settings: `authorities = "${authorities}"\nunlisted = "deny"` },
    {
      async credentials(question) {
        asked.push(question);
        if (!isBound) return undefined;
        return {
          terminate: [parseHostRule(`${BOUND}:${port}`)],
          credential: async ({ host, scheme }) =>
            host === BOUND && scheme === 'https' ? { headers: { authorization: new Secret(SECRET) } } : undefined,
        };
      },
      // Its boxes are started ahead, and none of them is of another call.
      pool: { perProfile: 1 },
    },
  );
  base = dirname(house.workspace.root);
  writeFileSync(join(house.workspace.root, 'origins.pem'), origins.caPem, { mode: 0o644 });
  asked.length = 0;
});
afterAll(async () => {
  await house.close();
  rmSync(authorities);
  server.closeAllConnections();
  server.close();
});

async function bash(script: string): Promise<string> {
  seen = [];
  const calling = house.command(['bash', '-c', script], { network: [`${BOUND}:${port}`, `${OTHER}:${port}`] });
  const card = await Promise.race([house.asked().catch(() => undefined), calling.then(() => undefined)]);
  if (card !== undefined) await house.answer({ scope: 'session' });
  const { outcome } = await calling;
  expect(outcome).toMatchObject({ kind: 'completed' });
  return outcome.stdout ?? '';
}

const at = (host: string, path: string) => `https://${host}:${port}${path}`;

/** As Node 20 does it, too, whose fetch looks at no variable for the proxy; the authority is from one. */
const NODE = `
const [, host] = process.argv, servername = host.split(':')[0];
require('http').request({ host: '127.0.0.1', port: 3128, method: 'CONNECT', path: host, headers: { host } }).on('connect', (_, socket) => {
  const createConnection = () => require('tls').connect({ socket, servername });
  require('https').get({ createConnection, path: '/node', headers: { host } }, (answer) => answer.pipe(process.stdout));
}).end();
`;

/** Every way in which the box might have it. A pattern that its own text does not match. */
const LOOK_FOR = `
look() { grep -rlsa -- "$1" /etc /tmp /run /dev/shm "$HOME" . /proc/[0-9]*/environ /proc/[0-9]*/cmdline 2>/dev/null | head -3; }
`;

test('curl, node, python and git reach a bound host with a credential that none of them ever has', async () => {
  const script = `${LOOK_FOR}
    curl -sS ${at(BOUND, '/curl')}
    node -e "${NODE}" ${BOUND}:${port}
    /usr/bin/python3 -c 'import sys, urllib.request; print(urllib.request.urlopen(sys.argv[1]).read().decode(), end="")' ${at(BOUND, '/python')}
    git ls-remote ${at(BOUND, '/git')}
    env -i https_proxy=$https_proxy curl -sS ${at(BOUND, '/without-variables')}
    curl -sS -H 'authorization: Bearer mine' ${at(BOUND, '/made-up')}
    look 's3cr3t-o[f]'
    look 'PRIVATE KE[Y]'
    (echo > /etc/palyra/authorities.pem) 2>/dev/null && echo written
    (echo > ${SYSTEM_BUNDLE}) 2>/dev/null && echo written
    cp /etc/palyra/call-authority.pem first.pem
    echo end`;
  const told = await bash(script);
  expect(told.split('\n')).toEqual([
    'hello /curl',
    'hello /node',
    'hello /python',
    `${'a'.repeat(40)}\tHEAD`,
    `${'a'.repeat(40)}\trefs/heads/main`,
    'hello /without-variables',
    'hello /made-up',
    'end',
    '',
  ]);
  expect(seen.length).toBeGreaterThanOrEqual(6);
  expect(seen.filter((line) => line !== `${line.split(' ').slice(0, 2).join(' ')} ${SECRET}`)).toEqual([]);
  expect(asked).toMatchObject([{ principal: 'agent:coder', workspace: 'work', tool: 'palyra.process.run' }]);
});

test('TLS of a host that nothing is bound to is the host’s own, in the same call', async () => {
  const script = `
    curl -sS ${at(BOUND, '/bound')}
    curl -sS --cacert origins.pem ${at(OTHER, '/own')}
    curl -sS --cacert /etc/palyra/call-authority.pem ${at(OTHER, '/read-along')} 2>/dev/null || echo $?
    curl -sS ${at(OTHER, '/by-the-system')} 2>/dev/null || echo $?
    # The bound host is not itself here, which nobody hides.
    curl -sS --cacert origins.pem ${at(BOUND, '/own')} 2>/dev/null || echo $?
    echo end`;
  expect((await bash(script)).split('\n')).toEqual(['hello /bound', 'hello /own', '60', '60', '60', 'end', '']);
  expect(seen).toEqual([`${BOUND} /bound ${SECRET}`, `${OTHER} /own -`]);
});

test('the authority of one call is nobody’s in the next, nor on the host, and nothing of it stays', async () => {
  const first = readFileSync(join(house.workspace.root, 'first.pem'), 'utf8');
  expect(first).toMatch(/^-----BEGIN CERTIFICATE-----\n[^-]+-----END CERTIFICATE-----\n$/);
  const script = `
    curl -sS ${at(BOUND, '/second')}
    curl -sS --cacert first.pem ${at(BOUND, '/by-the-first')} 2>/dev/null || echo $?
    cmp -s first.pem /etc/palyra/call-authority.pem || echo another
    grep -cF "$(tail -n 3 first.pem | head -n 1)" /etc/palyra/authorities.pem ${SYSTEM_BUNDLE}`;
  expect((await bash(script)).split('\n')).toEqual([
    'hello /second',
    '60',
    'another',
    '/etc/palyra/authorities.pem:0',
    `${SYSTEM_BUNDLE}:0`,
    '',
  ]);
  expect(readFileSync(SYSTEM_BUNDLE).equals(trustedBefore)).toBe(true);
  expect(existsSync('/etc/palyra')).toBe(false);
  // Of its signature: what comes before may be that of others that were made in the same second.
  const line = first.trimEnd().split('\n').at(-3) ?? '';
  expect(line).toHaveLength(64);
  expect(filesWith(base, line)).toEqual([join(house.workspace.root, 'first.pem')]);
  // Nor is the credential in anything that palyrad has written.
  expect(filesWith(base, SECRET)).toEqual([]);
});

test('a call that nothing is bound for has no authority, no variables and no TLS but the hosts’ own', async () => {
  isBound = false;
  const script = `
    curl -sS --cacert origins.pem ${at(BOUND, '/own')}
    curl -sS ${at(BOUND, '/by-the-system')} 2>/dev/null || echo $?
    ls -d /etc/palyra 2>/dev/null
    env | grep -c palyra/ `;
  expect((await bash(script)).split('\n')).toEqual(['hello /own', '60', '0', '']);
  expect(seen).toEqual([`${BOUND} /own -`]);
  isBound = true;
});

test('a fetch of palyrad’s own gets it, and its caller does not', async () => {
  seen = [];
  // The session's yes to the host holds here, too.
  const calling = house.run.call({ tool: 'palyra.http.fetch', input: JSON.stringify({ url: at(BOUND, '/fetch') }) });
  const result = await calling;
  expect(result).toMatchObject({ outcome: { kind: 'completed', stdout: 'hello /fetch\n' } });
  expect(seen).toEqual([`${BOUND} /fetch ${SECRET}`]);
  expect(JSON.stringify([result, await house.page(result)])).not.toContain(SECRET);
  expect(await house.verdict()).toBe('sound');
});

/** Files below a directory that hold this. */
function filesWith(directory: string, text: string): readonly string[] {
  return readdirSync(directory, { recursive: true, encoding: 'utf8' })
    .map((name) => join(directory, name))
    .filter((path) => statSync(path, { throwIfNoEntry: false })?.isFile() === true)
    .filter((path) => readFileSync(path).includes(text));
}
