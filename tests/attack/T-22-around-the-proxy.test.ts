/** T-22, T-47: a tool with a listener of its own tries to reach what it was not allowed, to wear people down, and to outlive its call. */
import { once } from 'node:events';
import { type ConnectionAttempt, DEFAULT_EGRESS_LIMITS, parseHostRule } from '@palyra/egress';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { answerPlainly, type Origin, startOrigin } from '../egress/origins.ts';
import { type OpenedCall, openCall, type ProxyPlace, readAll, startProxyPlace, tell } from '../egress/proxy-process.ts';

let place: ProxyPlace;
let allowed: Origin;
let other: Origin;
let call: OpenedCall;

beforeAll(async () => {
  place = await startProxyPlace();
});
afterAll(() => place.close());

beforeEach(async () => {
  allowed = await startOrigin(answerPlainly);
  other = await startOrigin(answerPlainly);
  call = await open();
});

afterEach(async () => {
  await call.close();
  await allowed.close();
  await other.close();
});

/** Both are reachable as far as addresses go: only the rules stand between the tool and `other`. */
function open(more: Parameters<typeof openCall>[1] = {}, at: ProxyPlace = place): Promise<OpenedCall> {
  return openCall(at, {
    rules: [parseHostRule(`allowed.test:${allowed.port}`)],
    privateRanges: [`127.0.0.1:${allowed.port}`, `127.0.0.1:${other.port}`],
    pinned: { 'allowed.test': ['127.0.0.1'], 'other.test': ['127.0.0.1'] },
    ...more,
  });
}

const get = (host: string, more = ''): string => `GET http://${host}/ HTTP/1.1\r\nHost: ${host}\r\n${more}\r\n`;
const summary = (attempts: readonly ConnectionAttempt[]) =>
  attempts.map(({ protocol, host, port, outcome, denial }) => [
    protocol,
    `${host}:${port}`,
    outcome,
    denial?.code ?? '',
  ]);

function socks(kind: number, address: readonly number[], port: number, command = 1): Buffer {
  return Buffer.from([5, 1, 0, 5, command, 0, kind, ...address, port >> 8, port & 255]);
}

const socksName = (name: string, port: number): Buffer => socks(3, [name.length, ...Buffer.from(name, 'latin1')], port);

test('an allowed host answers over HTTP, CONNECT and SOCKS5, and every connection is recorded with its bytes', async () => {
  const host = `allowed.test:${allowed.port}`;
  expect(await tell(call, get(host))).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
  expect(await tell(call, `CONNECT ${host} HTTP/1.1\r\n\r\nhello\n`)).toMatch(/^HTTP\/1\.1 200 /);
  expect(
    Buffer.from(await tell(call, socksName('allowed.test', allowed.port), 'hello\n'), 'latin1').subarray(0, 4),
  ).toEqual(Buffer.from([5, 0, 5, 0]));
  const attempts = await call.close();
  expect(summary(attempts)).toEqual([
    ['http', host, 'allowed', ''],
    ['connect', host, 'allowed', ''],
    ['socks5', host, 'allowed', ''],
  ]);
  expect(attempts.map(({ bytesOut, address }) => [bytesOut, address])).toEqual([
    [expect.any(Number), '127.0.0.1'],
    [6, '127.0.0.1'],
    [6, '127.0.0.1'],
  ]);
});

test('nothing else gets a byte: other names, other ports, addresses, in every protocol', async () => {
  const { port } = other;
  const tries = [
    get(`other.test:${port}`),
    get(`127.0.0.1:${port}`),
    get(`allowed.test:${port}`),
    get(`sub.allowed.test:${allowed.port}`),
    `CONNECT other.test:${port} HTTP/1.1\r\n\r\n`,
    `CONNECT allowed.test:${port} HTTP/1.1\r\n\r\n`,
    `CONNECT 127.0.0.1:${allowed.port} HTTP/1.1\r\n\r\n`,
    `CONNECT [::ffff:127.0.0.1]:${allowed.port} HTTP/1.1\r\n\r\n`,
  ];
  for (const bytes of tries) {
    const answer = await tell(call, bytes);
    expect(answer).toMatch(/^HTTP\/1\.1 403 Forbidden\r\ncontent-type: application\/json\r\n/);
    const { error } = JSON.parse(answer.slice(answer.indexOf('\r\n\r\n'))) as { error: Record<string, unknown> };
    expect(error).toMatchObject({
      code: expect.stringMatching(/^egress\.(?:host|port)_not_allowed$/),
      rule: expect.stringMatching(/:\d+$/),
    });
  }
  const socksTries = [
    socksName('other.test', port),
    socksName('127.0.0.1', allowed.port),
    socks(1, [127, 0, 0, 1], allowed.port),
    socks(4, [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 255, 255, 127, 0, 0, 1], allowed.port),
  ];
  for (const bytes of socksTries) expect((await tell(call, bytes)).slice(0, 4)).toBe('\x05\x00\x05\x02');
  const attempts = await call.close();
  expect(attempts).toHaveLength(tries.length + socksTries.length);
  expect(attempts.every(({ outcome, bytesIn, bytesOut }) => outcome === 'denied' && bytesIn + bytesOut === 0)).toBe(
    true,
  );
  expect([allowed.heard, other.heard]).toEqual([[], []]);
});

test('SOCKS knows CONNECT and nothing else', async () => {
  expect((await tell(call, socks(1, [127, 0, 0, 1], allowed.port, 2))).slice(2, 4)).toBe('\x05\x07');
  expect((await tell(call, socks(1, [127, 0, 0, 1], allowed.port, 3))).slice(2, 4)).toBe('\x05\x07');
  expect((await tell(call, socks(9, [1], allowed.port))).slice(2, 4)).toBe('\x05\x07');
  expect(await tell(call, Buffer.from([5, 1, 2]))).toBe('\x05\xff');
  expect((await tell(call, Buffer.from([4, 1, 0, 80, 127, 0, 0, 1, 0]))).slice(0, 2)).not.toBe('\x00\x5a');
});

test('each request of a kept connection is decided anew, and the connection to a host is kept only for that host', async () => {
  const host = `allowed.test:${allowed.port}`;
  const answer = await tell(call, get(host), get(host), get(`other.test:${other.port}`), get(host));
  expect(answer.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 200', 'HTTP/1.1 200', 'HTTP/1.1 403']);
  expect(other.heard).toEqual([]);
  expect(allowed.heard).toHaveLength(1);
  expect((await call.close()).map(({ host: name, requests }) => [name, requests])).toEqual([
    ['allowed.test', 2],
    ['other.test', undefined],
  ]);
});

test('a listener is of one call: its neighbour has no more than its own rules, and without a call it leads nowhere', async () => {
  const neighbour = await open({ rules: [] });
  expect(await tell(neighbour, get(`allowed.test:${allowed.port}`))).toMatch(/^HTTP\/1\.1 403/);
  await neighbour.close();
  const socket = await neighbour.dial().catch((error: NodeJS.ErrnoException) => error.code);
  expect(socket).toBe('ECONNREFUSED');
  expect(allowed.heard).toEqual([]);
});

test('an unlisted host is asked about while the connection is held: equal questions are one, and its answer is for the call', async () => {
  const answers: ((yes: boolean) => void)[] = [];
  const asking = await open({
    ask: (target) =>
      new Promise((resolve) => {
        const denial = { code: 'approvals.denied', ...target, missing: '', rule: '', message: 'No.', fix: '' };
        answers.push((yes) => resolve(yes ? { kind: 'allowed' } : { kind: 'denied', denial }));
      }),
  });
  const host = `other.test:${other.port}`;
  const sockets = [await asking.dial(), await asking.dial()];
  for (const socket of sockets) socket.write(get(host, 'Connection: close\r\n'));
  await expect.poll(() => answers.length).toBe(1);
  const heardBefore = other.heard.length;
  answers[0]?.(true);
  for (const socket of sockets) expect(await readAll(socket)).toMatch(/^HTTP\/1\.1 200/);
  expect(heardBefore).toBe(0);
  expect(await tell(asking, get(host))).toMatch(/^HTTP\/1\.1 200/);
  expect(answers).toHaveLength(1);
  const attempts = await asking.close();
  expect(attempts.filter(({ outcome, asked }) => outcome === 'allowed' && asked)).toHaveLength(3);
});

test('a question whose asker is gone is withdrawn, and a no is a no for the rest of the call', async () => {
  const asked: { readonly signal: AbortSignal; answer(): void }[] = [];
  const asking = await open({
    ask: (target, signal) =>
      new Promise((_resolve, reject) => {
        asked.push({ signal, answer: () => reject(new Error(`nobody wants ${target.host}`)) });
      }),
  });
  const first = await asking.dial();
  first.write(get(`other.test:${other.port}`));
  await expect.poll(() => asked.length).toBe(1);
  first.destroy();
  await expect.poll(() => asked[0]?.signal.aborted).toBe(true);
  const second = await asking.dial();
  second.write(get(`other.test:${other.port}`));
  await expect.poll(() => asked.length).toBe(2);
  asked[1]?.answer();
  expect(await readAll(second)).toContain('"code":"egress.denied"');
  expect(await tell(asking, get(`other.test:${other.port}`))).toContain('"code":"egress.denied"');
  expect(asked).toHaveLength(2);
  expect(other.heard).toEqual([]);
  await asking.close();
});

test('limits are limits: questions, connections, attempts, bytes', async () => {
  const limits = { ...DEFAULT_EGRESS_LIMITS, questions: 1, connections: 2, attempts: 4, bytesOut: 500 };
  let asked = 0;
  const limited = await open({
    limits,
    ask: async ({ host, port }) => {
      asked += 1;
      return { kind: 'denied', denial: { code: 'x.no', host, port, missing: '', rule: '', message: '', fix: '' } };
    },
  });
  const keeping = get(`other.test:${other.port}`);
  const ask = async (bytes: string): Promise<string> => {
    const socket = await limited.dial();
    socket.write(bytes);
    const answer = await readAll(socket);
    socket.destroy();
    return answer;
  };
  expect(await ask(keeping)).toContain('"code":"x.no"');
  expect(await ask(get(`another.test:${other.port}`))).toContain('"code":"egress.not_asked"');
  expect(asked).toBe(1);
  const host = `allowed.test:${allowed.port}`;
  expect(await tell(limited, `CONNECT ${host} HTTP/1.1\r\n\r\n`, Buffer.alloc(501, 'a\n'))).not.toContain('HTTP/1.1 4');
  expect(Buffer.concat(allowed.heard)).toHaveLength(0);
  const idle = [await limited.dial(), await limited.dial()];
  expect(await tell(limited, get(host))).toContain('"code":"egress.too_many_connections"');
  for (const socket of idle) {
    socket.destroy();
    await once(socket, 'close');
  }
  await expect.poll(() => tell(limited, get(host))).toContain('"code":"egress.too_many_attempts"');
  const attempts = await limited.close();
  expect(attempts.map(({ denial }) => denial?.code)).toEqual([
    'x.no',
    'egress.not_asked',
    'egress.too_many_bytes',
    'egress.too_many_connections',
    'egress.too_many_attempts',
  ]);
});

test('with its call everything ends: connections that are open, and those that are held', async () => {
  const asking = await open({ ask: () => new Promise(() => {}) });
  const held = await asking.dial();
  held.write(get(`other.test:${other.port}`));
  const tunnel = await asking.dial();
  tunnel.write(`CONNECT allowed.test:${allowed.port} HTTP/1.1\r\n\r\n`);
  await once(tunnel, 'data');
  const ends = [readAll(held).catch(() => ''), readAll(tunnel).catch(() => '')];
  const attempts = await asking.close();
  expect(await Promise.all(ends)).toEqual(['', '']);
  expect(attempts.every(({ endedAt }) => endedAt !== undefined)).toBe(true);
  expect(other.heard).toEqual([]);
});

test('a proxy that dies takes its connections along, and the next call gets a new one', async () => {
  const mortal = await startProxyPlace();
  const first = await open({}, mortal);
  const socket = await first.dial();
  socket.write(`CONNECT allowed.test:${allowed.port} HTTP/1.1\r\n\r\n`);
  await once(socket, 'data');
  first.opened.gate.process.kill('SIGKILL');
  expect(await readAll(socket).catch(() => '')).toBe('');
  const attempts = await first.close();
  expect(attempts).toMatchObject([
    { outcome: 'allowed', denial: { code: 'egress.not_reached' }, endedAt: expect.any(Number) },
  ]);
  const second = await open({}, mortal);
  expect(await tell(second, get(`allowed.test:${allowed.port}`))).toMatch(/^HTTP\/1\.1 200/);
  await mortal.close();
  await expect(open({}, mortal)).rejects.toMatchObject({ code: 'egress.closed' });
});
