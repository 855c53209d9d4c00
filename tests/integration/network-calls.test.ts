import { readdirSync, readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { type NetworkHouse, openNetworkHouse, type StandIn, standIn } from './network-house.ts';

/** Waits without a limit of its own: the machine may be busy. */
const PATIENT = { timeout: 30_000 };

let web: StandIn;
let house: NetworkHouse;
let restarted: Awaited<ReturnType<NetworkHouse['command']>>;

const names = [
  'one.example',
  'two.example',
  'three.example',
  'four.example',
  'five.example',
  'pkg.example',
  'npm.example',
];
const url = (name: string, path = '/') => `http://${name}:${web.port}${path}`;
const curl = (...words: readonly string[]) => ['curl', '-sS', '--max-time', '40', ...words];

beforeAll(async () => {
  web = await standIn((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://x');
    const to = searchParams.get('to');
    if (pathname === '/redirect' && to !== null) response.writeHead(302, { location: to }).end();
    else response.end(`hello from ${request.headers.host}`);
  });
  const registries = `registries = "pkg.example:${web.port}, npm.example:${web.port}"`;
  house = await openNetworkHouse({ names, ports: [web.port], settings: registries });
  // The next call finds another one. Here, because what a test starts, it ends.
  const [dead] = proxies();
  if (dead === undefined) throw new Error('There is no proxy.');
  process.kill(dead, 'SIGKILL');
  while (proxies().includes(dead)) await new Promise((resolve) => setImmediate(resolve));
  restarted = await house.command(['true'], { unlisted: 'ask' });
});
afterAll(async () => {
  await house.close();
  await web[Symbol.asyncDispose]();
});

/** Below this process, however far: the launcher starts it. */
function proxies(): readonly number[] {
  const isOurs = (pid: number): boolean => pid === process.pid || (pid > 1 && isOurs(parentOf(pid)));
  return readdirSync('/proc')
    .filter((name) => /^[0-9]+$/.test(name))
    .map(Number)
    .filter((pid) => textOf(pid, 'cmdline').includes('proxy-program') && isOurs(pid));
}

function parentOf(pid: number): number {
  return Number(/^PPid:\s+(\d+)/m.exec(textOf(pid, 'status'))?.[1] ?? 0);
}

function textOf(pid: number, file: 'cmdline' | 'status'): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8');
  } catch {
    return '';
  }
}

const questions = () => house.daemon.approvals.countPending();

test('a proxy that died is started again for the next call', () => {
  expect(restarted).toMatchObject({ outcome: { kind: 'completed', exit_code: 0 } });
  expect(proxies()).toHaveLength(1);
});

describe('hosts that a call names', () => {
  test('are a question before it starts, and reached when a human said yes; all of it is attested', async () => {
    const calling = house.command(curl(url('one.example')), { network: [`one.example:${web.port}`] });
    const { prompt } = await house.asked();
    expect(prompt.what.hosts.map(({ shown }) => shown)).toEqual([`one.example:${web.port}`]);
    expect(prompt.policy.ids).toEqual(['new-host']);
    await house.answer({ scope: 'once' });
    const result = await calling;
    expect(result).toMatchObject({
      decision: { kind: 'allow' },
      approval: { outcome: 'approved', scope: 'once' },
      outcome: {
        kind: 'completed',
        exit_code: 0,
        stdout: `hello from one.example:${web.port}`,
        output: { egress: 'strict', connections: [{ host: 'one.example', port: web.port, outcome: 'allowed' }] },
      },
      attestation: { sandbox_enforcement: 'strict' },
    });
    const [connection, ...more] = await house.connections(result);
    expect(more).toEqual([]);
    expect(connection).toMatchObject({ host: 'one.example', port: web.port, outcome: 'allowed' });
    expect(connection?.bytes_in).toBeGreaterThan(0);
    expect(connection?.bytes_out).toBeGreaterThan(0);
  });

  test('are all that it reaches: another is denied in one shape, to the tool and to the agent', async () => {
    const calling = house.command(curl(url('two.example')), { network: [`one.example:${web.port}`] });
    await house.answer({ scope: 'once' });
    const { outcome } = await calling;
    const denial = {
      code: 'egress.host_not_allowed',
      host: 'two.example',
      port: web.port,
      rule: `two.example:${web.port}`,
    };
    expect(JSON.parse(outcome.stdout ?? '')).toMatchObject({ error: denial });
    expect(outcome.output).toMatchObject({ denied_connections: [denial] });
    expect(web.seen.filter((line) => line.includes('two.example'))).toEqual([]);
  });
});

describe('a host that it did not name', () => {
  test('is asked about once while its connections are held; they go on, and nothing has to be run again', async () => {
    const script = `curl -sS ${url('two.example', '/a')} & curl -sS ${url('two.example', '/b')} & wait`;
    const calling = house.command(['bash', '-c', script]);
    const { prompt } = await house.asked();
    expect(await questions()).toBe(1);
    expect(prompt.what.sentence).toContain(`wants to connect to two.example port ${web.port}`);
    expect(prompt.what.action.text).toContain('curl');
    expect(prompt.options.map(({ scope }) => scope)).toEqual(['once', 'session', 'timeboxed', 'always']);
    expect(web.seen.filter((line) => line.includes('two.example'))).toEqual([]);
    await house.answer({ scope: 'once' });
    const result = await calling;
    expect(result).toMatchObject({ decision: { policy_ids: ['in-the-box'] }, outcome: { exit_code: 0 } });
    expect(web.seen.filter((line) => line.includes('two.example'))).toHaveLength(2);
    expect(await house.connections(result)).toMatchObject([{ outcome: 'allowed' }, { outcome: 'allowed' }]);
    const { entries } = await house.daemon.journal.query({ call: result.call_id, kinds: ['connection.decided'] });
    expect(entries.map(({ data }) => ('decision' in data ? data.decision : ''))).toEqual(['ask', 'allow']);
  });

  test('that was refused is a 403 with the reason, and stays so for the call', async () => {
    const calling = house.command(curl(url('three.example')));
    await house.answer({ deny: 'Not there.' });
    const { outcome } = await calling;
    expect(JSON.parse(outcome.stdout ?? '')).toMatchObject({
      error: { code: 'gateway.approval_denied', host: 'three.example', message: 'A human refused. Not there.' },
    });
    expect(outcome.output).toMatchObject({ denied_connections: [{ rule: `host:three.example:${web.port}` }] });
  });

  test('and answered for the session is asked about no more in it', async () => {
    const first = house.command(curl(url('four.example')));
    await house.answer({ scope: 'session' });
    expect(await first).toMatchObject({ outcome: { exit_code: 0 } });
    expect(await house.command(curl(url('four.example', '/again')))).toMatchObject({ outcome: { exit_code: 0 } });
  });

  test('and answered for good is a rule, which the next command passes by, also beside another host', async () => {
    const first = house.command(curl(url('five.example')));
    await house.answer({ scope: 'always' });
    expect(await first).toMatchObject({ outcome: { exit_code: 0 } });
    expect(house.daemon.rules.list(house.operator).map(({ reason }) => reason)).toEqual([
      `Allowed in this workspace for good: connections to five.example:${web.port}.`,
    ]);
    const both = await house.command(curl(url('five.example', '/again'), url('four.example')));
    expect(both).toMatchObject({ outcome: { exit_code: 0 } });
  });

  test('is a package registry: one question for all of them', async () => {
    const calling = house.command(curl(url('pkg.example'), url('npm.example')));
    const { prompt } = await house.asked();
    expect(prompt.policy.ids).toEqual(['registries']);
    expect(prompt.what.hosts).toHaveLength(2);
    await house.answer({ scope: 'once' });
    expect(await calling).toMatchObject({ outcome: { exit_code: 0 } });
  });

  test('at an address that is never handed out is denied, and nobody is asked', async () => {
    const { outcome } = await house.command(
      curl('--noproxy', '', 'http://127.0.0.1:9/', '-o', '/dev/null', '-w', '%{http_code}'),
    );
    expect(outcome).toMatchObject({
      stdout: '403',
      output: { denied_connections: [{ host: '127.0.0.1', port: 9, missing: 'never' }] },
    });
    expect(await questions()).toBe(0);
  });

  test('is asked about for nobody once the call is over', async () => {
    const calling = house.command(curl(url('one.example')), { timeout_ms: 3000 });
    await house.asked();
    expect(await calling).toMatchObject({ outcome: { kind: 'timed_out' } });
    await vi.waitFor(async () => expect(await questions()).toBe(0), PATIENT);
  });
});

describe('other modes', () => {
  test('off is no way out at all, and the outcome says so', async () => {
    const { outcome, attestation } = await house.command(curl(url('one.example')), { network: [] });
    expect(outcome.exit_code).not.toBe(0);
    expect(outcome.output).toMatchObject({
      hints: [{ kind: 'network', what: 'The command was run without a network.' }],
    });
    expect(attestation.sandbox_enforcement).toBe('strict');
  });

  test('a program that does not use the proxy is told what to set', async () => {
    const { outcome } = await house.command(curl('--noproxy', '*', url('one.example')));
    expect(outcome.output).toMatchObject({ hints: [{ kind: 'network', fix: expect.stringContaining('HTTPS_PROXY') }] });
  });

  test('open is always a question, is called open, and reaches no private address all the same', async () => {
    const calling = house.command(curl('--noproxy', '', url('one.example'), 'http://127.0.0.1:9/'), { egress: 'none' });
    expect((await house.asked()).prompt.policy.ids).toEqual(['leave-the-box']);
    await house.answer({ scope: 'once' });
    const result = await calling;
    expect(result).toMatchObject({
      attestation: { sandbox_enforcement: 'none' },
      outcome: { output: { egress: 'none' } },
    });
    expect(await house.connections(result)).toMatchObject([
      { host: 'one.example', outcome: 'allowed' },
      { host: '127.0.0.1', port: 9, outcome: 'denied', code: 'egress.address_not_allowed' },
    ]);
  });

  test('preflight looks before it starts', async () => {
    const preflight = { sandbox: 'limits', network: ['one.example'], egress: 'preflight' };
    const refused = await house.command(['curl', 'https://two.example/'], preflight);
    expect(refused).toMatchObject({
      outcome: { kind: 'refused', code: 'gateway.egress_denied', message: expect.stringContaining('two.example') },
    });
    const calling = house.command(['echo', 'https://one.example/'], preflight);
    const { prompt } = await house.asked();
    expect(prompt.what.not_bound).toContainEqual(expect.stringContaining('nothing holds it to them'));
    await house.answer({ scope: 'once' });
    expect(await calling).toMatchObject({ attestation: { sandbox_enforcement: 'preflight' } });
  });
});

describe('palyra.http.fetch', () => {
  const fetching = (input: object) => house.run.call({ tool: 'palyra.http.fetch', input: JSON.stringify(input) });

  test('is decided as every connection is, and so is each redirect', async () => {
    const calling = fetching({
      url: url('one.example', `/redirect?to=${encodeURIComponent(url('three.example', '/end'))}`),
    });
    expect((await house.asked()).prompt.what.sentence).toContain('wants to fetch');
    await house.answer({ scope: 'once' });
    await vi.waitFor(async () => {
      expect((await house.asked()).prompt.what.sentence).toContain('wants to connect to three.example');
    }, PATIENT);
    await house.answer({ scope: 'once' });
    const result = await calling;
    expect(result.outcome).toMatchObject({
      kind: 'completed',
      stdout: `hello from three.example:${web.port}`,
      output: { status: 200, url: url('three.example', '/end'), hops: [{ status: 302 }] },
    });
    expect(await house.connections(result)).toMatchObject([{ host: 'one.example' }, { host: 'three.example' }]);
  });

  test('follows no redirect to an address that is never handed out', async () => {
    const result = await (async () => {
      const calling = fetching({
        url: url('four.example', `/redirect?to=${encodeURIComponent('http://127.0.0.1:9/')}`),
      });
      return calling;
    })();
    expect(result.outcome).toMatchObject({ kind: 'failed', output: { denied_connections: [{ host: '127.0.0.1' }] } });
  });

  test('takes no url that is none, or holds a password', async () => {
    for (const wrong of ['ftp://one.example/', 'http://me:secret@one.example/', 'one.example/path']) {
      expect(await fetching({ url: wrong })).toMatchObject({ outcome: { code: 'gateway.invalid_input' } });
    }
  });
});

test('a call that connects more often than an attestation has lines for: each try is in the journal, and attested', async () => {
  const tries = 300;
  const source = `
import socket
for each in range(${tries}):
  with socket.create_connection(('127.0.0.1', 3128)) as line:
    line.sendall(b'CONNECT h%d.example:443 HTTP/1.1\\r\\n\\r\\n' % each)
    while line.recv(4096): pass
`;
  const result = await house.command(['python3', '-c', source], {
    unlisted: 'deny',
    network: [`four.example:${web.port}`],
  });
  const { statement } = (await house.page(result)).attestation ?? {};
  expect(statement?.egress).toHaveLength(256);
  expect(statement).toMatchObject({ egress_left_out: tries - 256, egress_all: { count: tries } });
  const { entries } = await house.daemon.journal.query({ call: result.call_id, kinds: ['outcome'] });
  const [outcome] = entries;
  if (outcome?.kind !== 'outcome' || outcome.data.connections === undefined) throw new Error('They are not kept.');
  expect(outcome.data.connections).toBe(statement?.egress_all?.sha256);
  const kept = await house.daemon.journal.bodies.read(outcome.data.connections);
  const hosts = (JSON.parse(Buffer.from(kept?.bytes ?? []).toString()) as { host: string }[]).map(({ host }) => host);
  expect(hosts).toEqual(Array.from({ length: tries }, (_each, at) => `h${at}.example`));
});

test('everything that happened verifies', async () => {
  expect(await house.verdict()).toBe('sound');
});
