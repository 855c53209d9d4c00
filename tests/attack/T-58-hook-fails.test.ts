// T-58: an agent's hook is missing, killed, late, fed with garbage, answered by somebody who is not palyrad, or left alone by a
// palyrad that is gone. Each time the agent must hear its blocking answer: exit code 2. Others are a mishap to agents, and the
// tool runs.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { ApprovalService } from '@palyra/api';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type HookedAgent, run, type Said, startHookedAgent } from '../hooked-agent.ts';

let agent: HookedAgent;

beforeAll(async () => {
  agent = await startHookedAgent();
}, 60_000);

afterAll(() => agent[Symbol.asyncDispose]());

const read = (path: string) => agent.event('PreToolUse', 'Read', { file_path: path });
const asked = (more: readonly string[] = []) =>
  agent.say(agent.event('PreToolUse', 'Teleport', {}), ['--patience', '1', ...more]);

test('what is allowed comes through, so that what follows proves something', async () => {
  expect(await agent.say(read('a.txt'))).toEqual({ code: 0, stdout: '', stderr: '' });
});

test('missing: the form in which it is installed says no', async () => {
  const installed = '/nonexistent/palyra-hook claude-code --patience 5 || exit 2';
  expect(await run(['/bin/sh', '-c', installed], JSON.stringify(read('a.txt')))).toMatchObject({ code: 2 });
});

test('killed while a human is asked: the form in which it is installed says no', async () => {
  // A shell gives what runs beside it nothing to read, and then the hook has ended by itself.
  const command = `exec 3<&0; ${agent.hook.join(' ')} --patience 60 <&3 & echo $!; wait $! || exit 2`;
  const shell = spawn('/bin/sh', ['-c', command], { stdio: ['pipe', 'pipe', 'ignore'] });
  shell.stdin.end(JSON.stringify(agent.event('PreToolUse', 'Teleport', {})));
  const [pid] = (await once(shell.stdout.setEncoding('utf8'), 'data')) as [string];
  const closed = once(shell, 'close');
  process.kill(Number(pid), 'SIGKILL');
  expect((await closed)[0]).toBe(2);
});

test('late: it says no before the agent gives it up', async () => {
  const { code, stdout, stderr } = await asked();
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
  expect(stderr).toContain('nobody answered in time');
});

describe('it connects before its agent has said anything', () => {
  test('hung up on while the agent writes: it comes again, and nothing was said before', async () => {
    const heard: Buffer[] = [];
    const hook = await startedAt((socket, nth) => {
      socket.on('data', (bytes: Buffer) => heard.push(bytes));
      // As palyrad does with whoever is silent for long.
      if (nth === 0) socket.destroy();
      else socket.once('data', () => socket.end());
    });
    await hook.connected;
    expect(heard).toEqual([]);
    hook.stdin.end(JSON.stringify(read('a.txt')));
    expect(await hook.said).toMatchObject({ code: 2, stdout: '' });
    expect(hook.connections()).toBe(2);
    expect(Buffer.concat(heard).subarray(0, 4).toString()).toBe('PLH2');
  });

  test('nobody is there: it says so when the agent has said all, and not before', async () => {
    const home = await homeThatLeadsTo(await freePort());
    const child = startHook(home);
    const text = `{"x":"${'a'.repeat(1024 * 1024)}"}`;
    // A hook that has ended takes no more than a pipe holds.
    const written = new Promise<unknown>((resolve) => {
      child.stdin.on('error', resolve).end(text, (error?: Error | null) => resolve(error ?? 'all'));
    });
    const ended = endOf(child);
    expect(await written).toBe('all');
    expect(await ended).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining('palyrad does not run') });
  });
});

test.each([
  ['nothing', ''],
  ['no JSON', 'rm -rf /'],
  ['half of a message', '{"hook_event_name":"PreToolUse","tool_name":"Ba'],
  ['another format', '{"event":"before","tool":"bash"}'],
  [
    'two tools in one message',
    '{"hook_event_name":"PreToolUse","session_id":"a","cwd":"/","tool_name":"Read","tool_name":"Bash","tool_input":{}}',
  ],
  ['more than anybody says', `{"hook_event_name":"PreToolUse","x":"${'a'.repeat(9 * 1024 * 1024)}"}`],
])('garbage: %s', async (_what, message) => {
  expect(await agent.say(message)).toMatchObject({ code: 2, stdout: '' });
});

test('a place that is no workspace, and an agent that nobody knows', async () => {
  const elsewhere = { ...(read('a.txt') as object), cwd: '/usr/share' };
  expect(await agent.say(elsewhere)).toMatchObject({ code: 2, stdout: '' });
  const [hook, , ...rest] = agent.hook;
  const stranger = await run([hook, 'hal9000', ...rest, '--patience', '5'], JSON.stringify(read('a.txt')));
  expect(stranger).toMatchObject({ code: 2, stdout: '' });
});

test.each([[[]], [['--patience', 'soon']], [['--patience', '5', '--unknown', 'x']]])(
  'set up as it should not be: %j',
  async (more) => {
    expect(await agent.say(read('a.txt'), more)).toMatchObject({ code: 2, stdout: '' });
  },
);

describe('somebody else on the port that palyrad had', () => {
  // Without its signature this is a yes: exit code 0, and nothing said.
  const yes = Buffer.alloc(9);
  const answers: readonly [string, Buffer][] = [
    ['says yes without a signature', yes],
    ['says yes with one of its own', Buffer.concat([yes, Buffer.alloc(32, 7)])],
    ['hangs up', Buffer.alloc(0)],
    ['says something else', Buffer.from('HTTP/1.1 200 OK\r\n\r\n{}')],
    ['says lengths that are not there', Buffer.concat([Buffer.alloc(1), Buffer.alloc(8, 255), Buffer.alloc(32)])],
  ];

  test.each(answers)('%s', async (_what, answer) => {
    expect(await answeredBy((socket) => void socket.end(answer))).toMatchObject({ code: 2, stdout: '' });
  });

  test('says yes, then more, and does not hang up', async () => {
    const [, [, signed]] = answers as [unknown, [string, Buffer]];
    const said = await answeredBy((socket) => void socket.write(Buffer.concat([signed, signed])));
    expect(said).toMatchObject({ code: 2, stdout: '' });
    expect(said.stderr).toContain('palyrad did not answer');
  });

  async function answeredBy(answer: (socket: Socket) => void): Promise<Said> {
    const impostor = createServer((socket) => void socket.once('data', () => answer(socket)));
    await once(impostor.listen(0, '127.0.0.1'), 'listening');
    const { port } = impostor.address() as AddressInfo;
    const home = await homeThatLeadsTo(port);
    const [hook, client, , , ...rest] = agent.hook;
    const said = await run(
      [hook, client ?? '', '--home', home, ...rest, '--patience', '5'],
      JSON.stringify(read('a.txt')),
    );
    impostor.close();
    return said;
  }
});

test.each([
  ['nothing to read from', '0<&-'],
  ['nowhere to put its answer', '1>&-'],
  ['nowhere to say why', '2>&-'],
])('started with %s: it says no, and the connection does not take that place', async (_name, closed) => {
  let connections = 0;
  const server = createServer((socket) => {
    connections += 1;
    // To a hook that reads from here, this is what its agent wants.
    socket.on('error', () => undefined).end(JSON.stringify(read('a.txt')));
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const home = await homeThatLeadsTo((server.address() as AddressInfo).port);
  const command = `exec "$0" "$@" ${closed}`;
  const said = await run(['/bin/sh', '-c', command, ...hookAt(home)], JSON.stringify(read('a.txt')));
  expect(said).toMatchObject({ code: 2, stdout: '' });
  expect(connections).toBe(0);
  server.close();
});

test('the file that leads to palyrad is open to others, or is a link', async () => {
  const file = join(agent.palyrad.home.root, 'hook');
  const home = join(agent.palyrad.root, 'open-home');
  await mkdir(home);
  writeFileSync(join(home, 'hook'), readFileSync(file), { mode: 0o644 });
  const [hook, client, , , ...rest] = agent.hook;
  const said = await run(
    [hook, client ?? '', '--home', home, ...rest, '--patience', '5'],
    JSON.stringify(read('a.txt')),
  );
  expect(said).toMatchObject({ code: 2, stdout: '' });
});

test('palyrad is killed while a human is asked, and gone afterwards', async () => {
  const waiting = agent.say(agent.event('PreToolUse', 'Teleport', {}));
  await expect
    .poll(
      () =>
        agent.palyrad
          .client(ApprovalService, 'operator')
          .listApprovals({})
          .then(({ approvals }) => approvals.length),
      { timeout: 20_000 },
    )
    .toBeGreaterThan(0);
  agent.palyrad.child.kill('SIGKILL');
  expect(await waiting).toMatchObject({ code: 2, stdout: '' });
  expect(await agent.say(read('a.txt'))).toMatchObject({ code: 2, stdout: '' });
});

async function homeThatLeadsTo(port: number): Promise<string> {
  const home = join(agent.palyrad.root, `leads-to-${port}`);
  await mkdir(home);
  const [, key = ''] = readFileSync(join(agent.palyrad.home.root, 'hook'), 'utf8').split('\n');
  writeFileSync(join(home, 'hook'), `127.0.0.1 ${port}\n${key.replaceAll(/./g, '0')}\n`, { mode: 0o600 });
  return home;
}

function hookAt(home: string): [string, ...string[]] {
  const [hook, client, , , ...rest] = agent.hook;
  return [hook, client ?? '', '--home', home, ...rest, '--patience', '20'];
}

function startHook(home: string) {
  const [hook, ...args] = hookAt(home);
  return spawn(hook, args, { stdio: 'pipe' });
}

async function endOf(child: ReturnType<typeof startHook>): Promise<Said> {
  let [stdout, stderr] = ['', ''];
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
  });
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, stdout, stderr };
}

async function startedAt(serve: (socket: Socket, nth: number) => void) {
  let connections = 0;
  const connected = Promise.withResolvers<void>();
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    serve(socket, connections++);
    // Its end has arrived by then: it is on loopback.
    socket.once('close', () => connected.resolve());
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const child = startHook(await homeThatLeadsTo((server.address() as AddressInfo).port));
  const said = endOf(child).finally(() => server.close());
  return { stdin: child.stdin, connected: connected.promise, said, connections: () => connections };
}

async function freePort(): Promise<number> {
  const server = createServer();
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}
