// T-58, T-01, T-03, T-05, T-16, T-35: what an agent's shell runs in the place of its command is answered by somebody who is
// not palyrad, by nobody, or in another order; it is killed, told to end, or has nowhere to write to; palyrad is killed under
// it, and the agent is revoked. Nothing that palyrad did not sign reaches the agent, no end but the command's own looks like
// one, and a command that nobody follows any more is gone with all that it started.
import { type ChildProcess, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { chmodSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { credentialDirectory, openCredential } from '@palyra/identity';
import { findHook } from '@palyra/sandbox';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createTeller, readCollection, type Teller } from '../../apps/daemon/src/agents/collect-frames.ts';
import { hookKeyOf } from '../../apps/daemon/src/agents/hook-frames.ts';
import { createTemporaryHome } from '../../packages/testkit/src/temporary-home.ts';
import { type HookedAgent, rewritten, run, type Said, startHookedAgent } from '../hooked-agent.ts';

const HOOK = findHook() ?? 'palyra-hook';
const ID = '01M7K48D0SBA2350575B6HPHYE';
/** 240 and palyra's own: unreachable. */
const LOST = 244;

describe('somebody else at the port, or in between', () => {
  const out = (text: string) => (teller: Teller) => teller.output('stdout', Buffer.from(text));
  const end = (teller: Teller) => teller.end({ exit: 0, words: '' });
  const unsigned = (kind: number, payload: string) => {
    const head = Buffer.alloc(5);
    head.writeUInt8(kind);
    head.writeUInt32BE(payload.length, 1);
    return Buffer.concat([head, Buffer.from(payload), Buffer.alloc(32, 7)]);
  };
  const changed = (bytes: Buffer, at: number, bits = 1) => {
    const other = Buffer.from(bytes);
    other[at] = (other[at] ?? 0) ^ bits;
    return other;
  };
  /** What of it may reach the agent, and what is sent, made by palyrad's own hand. */
  type Case = readonly [string, stdout: string, (teller: Teller, stranger: Teller, nonce: Buffer) => readonly Buffer[]];
  const cases: readonly Case[] = [
    ['hangs up', '', () => []],
    ['says something else', '', () => [Buffer.from('HTTP/1.1 200 OK\r\n\r\n{}')]],
    ['says an end without a signature', '', () => [unsigned(3, '\0')]],
    ['says output and an end without one', '', () => [unsigned(1, 'evil'), unsigned(3, '\0')]],
    ['has another key', '', (_, stranger) => [out('evil')(stranger), end(stranger)]],
    ['has what another one was told', '', (_, __, nonce) => told(out('evil'), end)(changed(nonce, 0))],
    ['changes what was said', '', (teller) => [changed(out('evil')(teller), 6), end(teller)]],
    ['changes where it goes', '', (teller) => [changed(out('evil')(teller), 0, 3), end(teller)]],
    ['changes how it ended', 'good', (teller) => [out('good')(teller), changed(end(teller), 5)]],
    ['repeats', 'good', (teller) => ((one) => [one, one, end(teller)])(out('good')(teller))],
    ['changes the order', '', (teller) => [out('a')(teller), out('b')(teller), end(teller)].toReversed()],
    ['leaves the first out', '', (teller) => [out('a')(teller), out('b')(teller), end(teller)].slice(1)],
    ['leaves one out', 'a', (teller) => [out('a')(teller), out('b')(teller), end(teller)].toSpliced(1, 1)],
    ['cuts it before the end', 'a', (teller) => [out('a')(teller)]],
    ['cuts it within the end', 'a', (teller) => [out('a')(teller), end(teller).subarray(0, -1)]],
    ['cuts it within output', '', (teller) => [out('evil')(teller).subarray(0, -1)]],
    ['says too much at once', '', (teller) => [out('x'.repeat(64 * 1024 + 1))(teller), end(teller)]],
    ['says lengths that are not there', '', () => [Buffer.concat([Buffer.of(1), Buffer.alloc(64, 255)])]],
  ];

  test('what palyrad signed comes through, so that what follows proves something', async () => {
    const { said, heard } = await toldBy((teller) => [
      teller.output('stdout', Buffer.from('out\n')),
      teller.output('stderr', Buffer.from('err\n')),
      teller.output('stdout', Buffer.alloc(64 * 1024, 120)),
      teller.end({ exit: 246, words: 'error[a.b]: no\n' }),
    ]);
    expect(said).toEqual({ code: 246, stdout: `out\n${'x'.repeat(64 * 1024)}`, stderr: 'err\nerror[a.b]: no\n' });
    expect(heard.length).toBe(4 + 32 + 2 + ID.length + 32);
  });

  test.each(cases)('%s', async (_name, stdout, frames) => {
    const { said } = await toldBy(frames);
    expect(said).toMatchObject({ code: LOST, stdout });
    expect(said.stderr).toMatch(/^error\[client\.unreachable\]: .*\nfix: .*\n$/);
  });

  test('whatever comes after the end is not heard', async () => {
    const { said } = await toldBy((teller) => [end(teller), out('evil')(teller), unsigned(1, 'evil')]);
    expect(said).toEqual({ code: 0, stdout: '', stderr: '' });
  });

  test.each([
    ['nothing to read from', '0<&-', 'out'],
    ['nowhere to put its output', '1>&-', ''],
    ['nowhere to say why', '2>&-', 'out'],
  ])('started with %s: the connection does not take that place', async (_name, closed, stdout) => {
    const { said, heard } = await toldBy(
      (teller) => [
        out('out')(teller),
        teller.output('stderr', Buffer.from('err')),
        teller.end({ exit: 3, words: 'w' }),
      ],
      ['/bin/sh', '-c', `exec "$0" "$@" ${closed}`],
    );
    expect(said).toMatchObject({ code: 3, stdout });
    expect(heard.length).toBe(4 + 32 + 2 + ID.length + 32);
  });

  function told(...frames: readonly ((teller: Teller) => Buffer)[]) {
    return (nonce: Buffer) => {
      const teller = createTeller({ nonce }, KEY);
      return frames.map((frame) => frame(teller));
    };
  }
});

test('nobody is there, and the file that leads to palyrad is missing or open to others', async () => {
  await using home = await homeFor(1);
  const cutOff = await run(collector(home.path));
  expect(cutOff).toMatchObject({ code: LOST, stdout: '' });
  expect(cutOff.stderr).toContain('palyrad cannot be reached from here, so the command does not run.');
  chmodSync(join(home.path, 'hook'), 0o644);
  expect(await run(collector(home.path))).toMatchObject({
    code: LOST,
    stdout: '',
    stderr: expect.stringContaining('is open to others'),
  });
  rmSync(join(home.path, 'hook'));
  expect(await run(collector(home.path))).toMatchObject({ code: LOST, stdout: '' });
});

test('somebody at the port who says nothing: one signal, and it is gone for all that', async () => {
  const asked = Promise.withResolvers<Socket>();
  const server = createServer({ allowHalfOpen: true }, (socket) => socket.once('data', () => asked.resolve(socket)));
  await once(server.listen(0, '127.0.0.1'), 'listening');
  await using home = await homeFor((server.address() as AddressInfo).port);
  const [hook, ...rest] = collector(home.path);
  const child = spawn(hook, rest, { stdio: ['ignore', 'pipe', 'pipe'] });
  const ended = endOf(child);
  const socket = await asked.promise;
  child.kill('SIGTERM');
  expect(await ended).toMatchObject({ code: 128 + 15, stdout: '' });
  socket.destroy();
  server.close();
});

test('SECURITY: T-03 — it takes an id, once, and nothing that would change the command', async () => {
  await using home = await homeFor(1);
  const [hook, exec, ...place] = collector(home.path);
  const more = [
    '-- sh',
    'sh',
    '--env A=b',
    `--call ${ID}`,
    '--listener 127.0.0.1:1',
    '--json',
    '--call',
    '--for',
    '--for ls --for id',
  ];
  for (const each of more) {
    expect(await run([hook, exec, ...place, ...each.split(' ')]), `with ${each}`).toMatchObject({
      code: 242,
      stdout: '',
    });
  }
  for (const few of [['--home', home.path], ['--call', ID], []]) {
    expect(await run([hook, exec, ...few]), `only ${few.join(' ')}`).toMatchObject({ code: 242, stdout: '' });
  }
});

describe('with palyrad', () => {
  let agent: HookedAgent;
  beforeAll(async () => {
    agent = await startHookedAgent();
  }, 60_000);
  afterAll(() => agent[Symbol.asyncDispose]());

  const decided = async (command: string) =>
    rewritten(await agent.say(agent.event('PreToolUse', 'Bash', { command }))).split(' ') as [string, ...string[]];
  /** It is under way, and so is what it started, which names itself. */
  const started = async (mark: string, loop = 'while :; do echo more; done') => {
    const [program, ...rest] = await decided(`sleep ${mark} & echo started; ${loop}`);
    const child = spawn(program, rest, { stdio: ['ignore', 'pipe', 'pipe'] });
    const said = endOf(child);
    await once(child.stdout ?? child, 'data');
    await expect.poll(() => running(mark), { timeout: 20_000 }).not.toEqual([]);
    return { child, said };
  };
  const expectGone = async (mark: string) => {
    await expect.poll(() => running(mark), { timeout: 20_000 }).toEqual([]);
  };

  test('ends as the command does, and says why it did not run', async () => {
    expect(await run(await decided('echo out; echo err >&2'))).toEqual({ code: 0, stdout: 'out\n', stderr: 'err\n' });
    expect(await run(await decided('exit 3'))).toEqual({ code: 3, stdout: '', stderr: '' });
    const killed = await run(await decided('kill -9 $$'));
    expect(killed).toMatchObject({ code: 137, stderr: expect.stringContaining('error[tool.signalled]') });
    const [program, ...rest] = await decided('echo once');
    const both = await Promise.all([run([program, ...rest]), run([program, ...rest])]);
    expect(new Set(both.map(({ code }) => code))).toEqual(new Set([0, 248]));
    const again = await run([program, ...rest]);
    expect(again).toMatchObject({ code: 248, stdout: '' });
    expect(again.stderr).toBe(
      'error[gateway.call_not_found]: No such command waits for this credential.\n' +
        'fix: Each runs once, for whoever comes first. Propose it again.\n',
    );
  });

  test('eight megabytes of each stream arrive as they were written, by a reader that is slow', async () => {
    const lines = 'seq 1000000 1000000 2000000000000 | head -c 8000000';
    const [program, ...rest] = await decided(`${lines}; ${lines} | tr 0-9 a-j >&2`);
    const child = spawn(
      '/bin/sh',
      ['-c', `"$0" "$@" 2>err | { sleep 1; sha256sum; }; sha256sum <err`, program, ...rest],
      {
        stdio: ['ignore', 'pipe', 'ignore'],
        cwd: agent.palyrad.root,
      },
    );
    const { stdout } = await endOf(child);
    const sum = (text: string) => createHash('sha256').update(text).digest('hex');
    let expected = '';
    for (let at = 1_000_000; expected.length < 8_000_000; at += 1_000_000) expected += `${at}\n`;
    expected = expected.slice(0, 8_000_000);
    const letters = expected.replaceAll(/\d/g, (digit) => 'abcdefghij'[Number(digit)] ?? '');
    expect(stdout.split('\n').map((line) => line.split(' ')[0])).toEqual([sum(expected), sum(letters), '']);
  }, 60_000);

  test('killed: the command ends with all that it started', async () => {
    const { child, said } = await started('6001.1');
    child.kill('SIGKILL');
    expect(await said).toMatchObject({ code: null });
    await expectGone('6001.1');
  });

  test.each([['SIGTERM'], ['SIGINT'], ['SIGHUP']] as const)('%s: the same, and it says so', async (signal) => {
    const { child, said } = await started(`6002.${signal.length}${signal.charCodeAt(3)}`, 'sleep 600');
    child.kill(signal);
    expect(await said).toMatchObject({ code: 249, stderr: expect.stringContaining('error[tool.cancelled]') });
    await expectGone(`6002.${signal.length}${signal.charCodeAt(3)}`);
  });

  test('nobody reads it any more: the command ends', async () => {
    const { child, said } = await started('6003.1');
    child.stdout?.destroy();
    expect(await said).toMatchObject({ code: 249 });
    await expectGone('6003.1');
  });

  test('nobody reads what is there already: the same', async () => {
    // As of a program that Node runs: a pair of sockets, closed while it is full, and who writes into it waits.
    const pair = `
import array, fcntl, socket, subprocess, sys, termios, time
ours, theirs = socket.socketpair()
hook = subprocess.Popen(sys.argv[1:], stdout=theirs)
theirs.close()
unread, same = array.array('i', [0]), 0
while same < 10:
  before = unread[0]
  fcntl.ioctl(ours, termios.FIONREAD, unread)
  same = same + 1 if unread[0] == before > 0 else 0
  time.sleep(0.02)
ours.close()
sys.exit(hook.wait())`;
    const command = await decided('sleep 6003.2 & while :; do echo more; done');
    expect(await run(['/usr/bin/python3', '-c', pair, ...command])).toMatchObject({ code: 249 });
    await expectGone('6003.2');
  });

  test('there is no room for it: the command ends, and nobody takes that for an end of its own', async () => {
    const command = await decided('sleep 6004.1 & while :; do echo more; done');
    const said = await run(['/bin/sh', '-c', 'exec "$0" "$@" >/dev/full', ...command]);
    expect(said).toMatchObject({ code: 241, stderr: expect.stringContaining('error[cli.output_failed]') });
    await expectGone('6004.1');
  });

  test('revoked while it runs: it hears no more, and the command ends', async () => {
    await using own = await startHookedAgent();
    const shared = agent;
    agent = own;
    try {
      const waiting = await decided('echo waited');
      const { said } = await started('6005.1', 'sleep 600');
      await own.palyrad.revoke(openCredential(credentialDirectory(own.palyrad.home.identity, 'local-agent')));
      expect(await said).toMatchObject({ code: LOST, stdout: 'started\n' });
      await expectGone('6005.1');
      const late = await run(waiting);
      expect(late).toMatchObject({ code: 243, stdout: '' });
      expect(late.stderr).toContain('does not count any more');
    } finally {
      agent = shared;
    }
  }, 60_000);

  test('palyrad is killed under it: that is no end of the command', async () => {
    await using own = await startHookedAgent();
    const shared = agent;
    agent = own;
    try {
      const { said } = await started('6006.1', 'sleep 600');
      own.palyrad.child.kill('SIGKILL');
      expect(await said).toMatchObject({ code: LOST, stdout: 'started\n' });
      await expectGone('6006.1');
    } finally {
      agent = shared;
    }
  }, 60_000);
});

const KEY_BYTES = Buffer.alloc(32, 9);
const KEY = hookKeyOf(KEY_BYTES);

/** A home that leads to this port, with a key that is ours. */
async function homeFor(port: number) {
  const place = await createTemporaryHome();
  writeFileSync(join(place.path, 'hook'), `127.0.0.1 ${port}\n${KEY_BYTES.toString('hex')}\n`, { mode: 0o600 });
  return place;
}

function collector(home: string): [string, string, ...string[]] {
  return [HOOK, 'exec', '--home', home, '--call', ID];
}

type Frames = (teller: Teller, stranger: Teller, nonce: Buffer) => readonly Buffer[];

/** What the real program does with these frames, and all that it said to whoever sent them. */
async function toldBy(frames: Frames, before: readonly string[] = []): Promise<{ said: Said; heard: Buffer }> {
  let heard = Buffer.alloc(0);
  const answer = (socket: Socket) => {
    const read = readCollection(heard, KEY);
    if (read.kind !== 'collection') return;
    const { nonce } = read.collection;
    const strangers = createTeller({ nonce }, hookKeyOf(Buffer.alloc(32, 8)));
    socket.end(Buffer.concat(frames(createTeller({ nonce }, KEY), strangers, nonce)));
  };
  const server = createServer((socket) => {
    socket
      .on('error', () => undefined)
      .on('data', (bytes) => {
        heard = Buffer.concat([heard, bytes]);
        answer(socket);
      });
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  await using home = await homeFor((server.address() as AddressInfo).port);
  const said = await run([...before, ...collector(home.path)] as [string, ...string[]]);
  server.close();
  return { said, heard };
}

/** Processes that this command started, wherever they are. */
function running(mark: string): readonly string[] {
  return readdirSync('/proc').filter((pid) => {
    if (!/^\d+$/.test(pid)) return false;
    try {
      return readFileSync(`/proc/${pid}/cmdline`, 'utf8') === `sleep\0${mark}\0`;
    } catch {
      return false;
    }
  });
}

async function endOf(child: ChildProcess): Promise<Said> {
  let [stdout, stderr] = ['', ''];
  child.stdout?.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
  });
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
  });
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, stdout, stderr };
}
