// T-40: a signal for one tool ends another process: by a number that is somebody else's by now, another job's, or one that
// no tool can hear. The launcher may be root, so whoever it hits has no say.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readlinkSync, writeFileSync } from 'node:fs';
import { constants, cpus } from 'node:os';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { decodeFacts } from '../../packages/sandbox/src/launcher/decode-reports.ts';
import { encodeRequest } from '../../packages/sandbox/src/launcher/encode-request.ts';
import { PASSED_SIGNALS } from '../../packages/sandbox/src/launcher/passed-signals.ts';
import { FROM_LAUNCHER, TO_LAUNCHER } from '../../packages/sandbox/src/launcher/wire.ts';
import {
  barePlan,
  launch,
  launcherProgram,
  openLauncher,
  type PlanChanges,
  python,
} from '../integration/launched-job.ts';
import { type RawLauncher, startRawLauncher } from '../integration/raw-launcher.ts';
import { childrenOf, IS_ROOT, statusOf, until } from './sandboxed.ts';

const SIGTERM = Buffer.of(PASSED_SIGNALS.SIGTERM);
const [OURS, OTHER] = [1, 2];
let launcher: RawLauncher;
let asked = 0;

beforeEach(async () => {
  launcher = await startRawLauncher([launcherProgram()]);
});
afterEach(async () => {
  await launcher.close();
});

function ask(job: number, changes: PlanChanges = {}): void {
  launcher.send(TO_LAUNCHER.start, job, encodeRequest(barePlan(['/bin/cat'], changes), { stdin: true }));
  launcher.send(TO_LAUNCHER.credit, job, Buffer.from([0, 0, 16, 0]));
}

/** `cat` and, of a sandbox, its init, measured; their pids on the host. */
async function measured(job: number): Promise<{ readonly pid: number; readonly init: number }> {
  const facts = await launcher.frame((frame) => frame.job === job && frame.kind === FROM_LAUNCHER.facts);
  const [pid = 0, init = 0] = decodeFacts(facts.payload).outside.map((process) => process.pid);
  return { pid, init };
}

async function start(job: number): Promise<number> {
  ask(job);
  return (await measured(job)).pid;
}

/** Another word each time, so that no answer of before counts. */
async function echoes(job: number): Promise<void> {
  asked += 1;
  const line = Buffer.from(`still there ${asked}\n`);
  launcher.send(TO_LAUNCHER.stdin, job, line);
  await launcher.frame(({ kind, payload, ...frame }) => {
    return frame.job === job && kind === FROM_LAUNCHER.stdout && payload.equals(line);
  });
}

/** Started, and past its word. */
async function run(job: number): Promise<number> {
  const pid = await start(job);
  launcher.send(TO_LAUNCHER.go, job);
  await echoes(job);
  return pid;
}

async function signalThatEnded(job: number): Promise<number> {
  const { payload } = await launcher.frame((frame) => frame.job === job && frame.kind === FROM_LAUNCHER.ended);
  return payload.readUInt32LE(10);
}

test('a signal reaches the job that it names and no other, and none that is not there', async () => {
  await run(OURS);
  await run(OTHER);
  for (const nobody of [0, 3, 77, 0xffff_ffff]) launcher.send(TO_LAUNCHER.signal, nobody, SIGTERM);
  await echoes(OTHER);
  launcher.send(TO_LAUNCHER.signal, OURS, SIGTERM);
  expect(await signalThatEnded(OURS)).toBe(constants.signals.SIGTERM);
  // It is gone now, and whoever has its place in the table is another one.
  launcher.send(TO_LAUNCHER.signal, OURS, SIGTERM);
  await run(3);
  launcher.send(TO_LAUNCHER.signal, OURS, SIGTERM);
  await echoes(OTHER);
  await echoes(3);
});

test('before the word there is nobody to hear it: what waits there is not the tool', async () => {
  await start(OURS);
  for (const number of Object.values(PASSED_SIGNALS)) launcher.send(TO_LAUNCHER.signal, OURS, Buffer.of(number));
  launcher.send(TO_LAUNCHER.go, OURS);
  await expect(echoes(OURS)).resolves.toBeUndefined();
});

describe('what is no signal of the list', () => {
  const known: readonly number[] = Object.values(PASSED_SIGNALS);
  const unknown = Array.from({ length: 256 }, (_, number) => number).filter((number) => !known.includes(number));

  test.each([
    ['SIGKILL', Buffer.of(9)],
    ['SIGSTOP', Buffer.of(19)],
    ['no number', Buffer.alloc(0)],
    ['two of them', Buffer.of(15, 15)],
    ['a number of four bytes', Buffer.of(15, 0, 0, 0)],
  ])('ends the job that was meant, and no other: %s', async (_, payload) => {
    await run(OURS);
    await run(OTHER);
    launcher.send(TO_LAUNCHER.signal, OURS, payload);
    const refusal = await launcher.frame(({ job, kind }) => job === OURS && kind === FROM_LAUNCHER.failed);
    expect(refusal.payload.toString()).toBe('A signal is not one that is passed on.');
    await echoes(OTHER);
  });

  test('is any other number', async () => {
    await run(OTHER);
    for (const number of unknown) {
      const job = 100 + number;
      await start(job);
      launcher.send(TO_LAUNCHER.signal, job, Buffer.of(number));
      await launcher.frame((frame) => frame.job === job && frame.kind === FROM_LAUNCHER.failed);
    }
    await expect(echoes(OTHER)).resolves.toBeUndefined();
  }, 60_000);
});

describe.runIf(IS_ROOT)('the tool’s number is somebody else’s by now [needs: root]', () => {
  let stranger: ChildProcess | undefined;
  afterEach(async () => {
    if (stranger === undefined || stranger.exitCode !== null || stranger.signalCode !== null) return;
    stranger.kill('SIGKILL');
    await once(stranger, 'close');
  });

  /** One with exactly this number, and with a child: the kernel gives the next one after the last, and root says which that was. */
  async function strangerWith(pid: number): Promise<ChildProcess> {
    for (;;) {
      writeFileSync('/proc/sys/kernel/ns_last_pid', String(pid - 1));
      const made = spawn('/bin/sh', ['-c', 'cat; true'], { stdio: ['pipe', 'ignore', 'ignore'] });
      if (made.pid === pid) return made;
      made.kill('SIGKILL');
      await once(made, 'close');
    }
  }

  test('and the signal that comes late does not reach it', async () => {
    const pid = await run(OURS);
    await run(OTHER);
    // Held, so that it hears of the signal before it can have forgotten the job.
    process.kill(launcher.pid, 'SIGSTOP');
    await until('the launcher is stopped', () => statusOf(launcher.pid, 'State').startsWith('T'));
    process.kill(pid, 'SIGKILL');
    await until('the tool is reaped', () => statusOf(pid, 'State') === '');
    stranger = await strangerWith(pid);
    await until('the stranger sleeps', () => statusOf(pid, 'State').startsWith('S'));
    for (const number of Object.values(PASSED_SIGNALS)) launcher.send(TO_LAUNCHER.signal, OURS, Buffer.of(number));
    process.kill(launcher.pid, 'SIGCONT');
    await launcher.frame(({ job, kind }) => job === OURS && kind === FROM_LAUNCHER.ended);
    await echoes(OTHER);
    expect({ exit: stranger.exitCode, signal: stranger.signalCode, state: statusOf(pid, 'State') }).toEqual({
      exit: null,
      signal: null,
      state: 'S (sleeping)',
    });
  });

  /** More than a processor has turns for; others are ended in a hurry then. */
  const CROWD = `
import os
start, held = os.pipe()
for _ in range(${45 * cpus().length}):
  if os.fork() == 0:
    os.close(held)
    os.read(start, 1)
    break
else:
  os.close(held)
  os.write(1, b'xxx')
while True: pass
`;

  /** In the place of bubblewrap, with an init that has no namespace: that may end before its tool does. It goes on when told to. */
  const WRAPPER = `
import os, signal, sys, time
os.kill(os.getpid(), signal.SIGSTOP)
init = os.fork()
if init == 0:
  if os.fork() == 0: os.execv(sys.argv[1], sys.argv[1:])
  os.wait()
  time.sleep(1000)
os.waitpid(init, 0)
time.sleep(1000)
`;

  /** Its number, when it is made and stopped. */
  async function wrapperOf(job: number): Promise<number> {
    ask(job, { wrapper: ['/usr/bin/python3', '-c', WRAPPER, '/proc/self/fd/5', 'stage'] });
    let wrapper = 0;
    await until('the wrapper is stopped', () => {
      wrapper = childrenOf(launcher.pid).flatMap(childrenOf)[0] ?? 0;
      return statusOf(wrapper, 'State').startsWith('T');
    });
    return wrapper;
  }

  async function endsAmongMany(job: number): Promise<void> {
    await using other = await openLauncher();
    await launch(other, python(CROWD)).untilOutput('xxx');
    launcher.send(TO_LAUNCHER.kill, job);
    await launcher.frame((frame) => frame.job === job && frame.kind === FROM_LAUNCHER.ended);
  }

  test('and when a crowd is ended, nobody below who has the number of its init is', async () => {
    process.kill(await wrapperOf(OURS), 'SIGCONT');
    const { init } = await measured(OURS);
    launcher.send(TO_LAUNCHER.go, OURS);
    await echoes(OURS);
    process.kill(init, 'SIGKILL');
    await until('the init is reaped', () => statusOf(init, 'State') === '');
    stranger = await strangerWith(init);
    await until('the stranger has a child', () => childrenOf(init).length === 1);
    const [child = 0] = childrenOf(init);
    await endsAmongMany(OURS);
    expect([statusOf(child, 'PPid'), statusOf(child, 'State')]).toEqual([String(init), 'S (sleeping)']);
  });

  test('and nobody beside who has that of what waits for the word, before it was compared', async () => {
    const wrapper = await wrapperOf(OURS);
    process.kill(launcher.pid, 'SIGSTOP');
    await until('the launcher is stopped', () => statusOf(launcher.pid, 'State').startsWith('T'));
    process.kill(wrapper, 'SIGCONT');
    let stage = 0;
    await until('it waits for its word', () => {
      stage = childrenOf(wrapper).flatMap(childrenOf)[0] ?? 0;
      return statusOf(stage, 'State').startsWith('S') && readlinkSync(`/proc/${stage}/exe`).includes('palyra-stage');
    });
    process.kill(stage, 'SIGKILL');
    await until('it is reaped', () => statusOf(stage, 'State') === '');
    stranger = await strangerWith(stage);
    process.kill(launcher.pid, 'SIGCONT');
    const { pid, init } = await measured(OURS);
    expect([pid, init]).toEqual([stage, process.pid]);
    await endsAmongMany(OURS);
    expect([stranger.exitCode, stranger.signalCode]).toEqual([null, null]);
  });
});
