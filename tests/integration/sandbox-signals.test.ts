import { chmodSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  createSandbox,
  PASSED_SIGNALS,
  type PassedSignal,
  type Running,
  type RunResult,
  type Sandbox,
  type SandboxOptions,
} from '@palyra/sandbox';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { sandboxProfile } from '../sandbox-profile.ts';

let sandbox: Sandbox;
let base: string;
let workspace: string;

beforeAll(async () => {
  base = mkdtempSync(join(tmpdir(), 'palyra-signals-'));
  // As root the tool is somebody else, who must get there.
  chmodSync(base, 0o755);
  workspace = join(base, 'work');
  mkdirSync(workspace);
  sandbox = await open('off');
});
afterAll(async () => {
  await sandbox.close();
  rmSync(base, { recursive: true, force: true });
});

function open(pool: SandboxOptions['pool'] & {}): Promise<Sandbox> {
  const operator = { path: '/usr/bin:/bin', home: '/nonexistent', palyraHome: join(base, 'home'), environment: {} };
  return createSandbox({ operator, logger: { error: () => undefined }, pool });
}

const python = (text: string) => ['python3', '-c', text];
const stdoutOf = (result: RunResult) => ('output' in result ? Buffer.from(result.output.stdout).toString() : '');

interface Acting {
  readonly in?: Sandbox;
  readonly acts: readonly ((running: Running) => void)[];
}

/** Runs it, and as often as it says `ready` does the next thing to it. */
async function run(argv: readonly string[], tier: 'B' | 'C', { in: box = sandbox, acts }: Acting) {
  let running: Running | undefined;
  let said = '';
  let done = 0;
  return box.run({ argv }, sandboxProfile(workspace, { tier }), {
    onStart(started) {
      running = started;
    },
    onOutput(_, bytes) {
      said += Buffer.from(bytes).toString();
      const due = said.split('ready').length - 1;
      for (; done < due; done += 1) if (running !== undefined) acts[done]?.(running);
    },
  });
}

const send = (name: PassedSignal) => (running: Running) => running.signal(name);
const NAMES = Object.keys(PASSED_SIGNALS) as readonly PassedSignal[];

const HEARS = `
import signal
names = ${JSON.stringify(NAMES)}
numbers = [getattr(signal, name) for name in names]
signal.pthread_sigmask(signal.SIG_BLOCK, numbers)
for _ in names:
  print('ready', flush=True)
  print(signal.Signals(signal.sigwait(numbers)).name, flush=True)
`;

/** Says how its child ended: by what it was sent from outside, or by what its parent sent it after that. */
const PARENT = `
import signal, subprocess
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT, signal.SIGTERM])
child = subprocess.Popen(['sleep', '1000'], preexec_fn=lambda: signal.pthread_sigmask(signal.SIG_SETMASK, []))
print('ready', flush=True)
signal.sigwait([signal.SIGINT, signal.SIGTERM])
child.send_signal(signal.SIGXCPU)
print(signal.Signals(-child.wait()).name)
`;

describe.each(['B', 'C'] as const)('in Tier %s', (tier) => {
  test('every signal of the list is heard, and as the one that it is', async () => {
    const result = await run(python(HEARS), tier, { acts: NAMES.map(send) });
    expect(result).toMatchObject({ kind: 'completed', exitCode: 0 });
    expect(stdoutOf(result)).toBe(NAMES.map((name) => `ready\n${name}\n`).join(''));
  });

  test('one that is not heard ends it, and is told', async () => {
    const result = await run(['sh', '-c', 'echo ready; exec sleep 1000'], tier, { acts: [send('SIGUSR1')] });
    expect(result).toMatchObject({ kind: 'signalled', signal: 'SIGUSR1' });
  });

  test('what a terminal would send goes to the whole group', async () => {
    const result = await run(python(PARENT), tier, { acts: [send('SIGINT')] });
    expect(stdoutOf(result)).toBe('ready\nSIGINT\n');
  });

  test('and what is sent to one process goes to the tool alone', async () => {
    const result = await run(python(PARENT), tier, { acts: [send('SIGTERM')] });
    expect(stdoutOf(result)).toBe('ready\nSIGXCPU\n');
  });

  test('a tool that closes its terminal before it exits is not hung up', async () => {
    const program = 'import os, time\nfor fd in (0, 1, 2): os.close(fd)\ntime.sleep(0.2)\nos._exit(5)';
    const command = { argv: python(program), terminal: { rows: 24, columns: 80 } };
    expect(await sandbox.run(command, sandboxProfile(workspace, { tier }))).toMatchObject({
      kind: 'completed',
      exitCode: 5,
    });
  });

  test('one that comes with the start is not lost', async () => {
    const result = await sandbox.run({ argv: ['sleep', '1000'] }, sandboxProfile(workspace, { tier }), {
      onStart: send('SIGTERM'),
    });
    expect(result).toMatchObject({ kind: 'signalled', signal: 'SIGTERM' });
  });

  test('one for a command that has ended changes nothing', async () => {
    let ended: Running | undefined;
    const profile = sandboxProfile(workspace, { tier });
    await sandbox.run({ argv: ['true'] }, profile, {
      onStart(running) {
        ended = running;
      },
    });
    for (const name of NAMES) ended?.signal(name);
    expect(await sandbox.run({ argv: ['true'] }, profile)).toMatchObject({ kind: 'completed', exitCode: 0 });
  });

  test('a sandbox that waited for its command passes it on as well', async () => {
    const warm = await open({});
    try {
      const script = 'trap "echo got it; exit 3" TERM; echo ready; sleep 1000 & wait';
      const attempt = () => run(['sh', '-c', script], tier, { in: warm, acts: [send('SIGTERM')] });
      let result = await attempt();
      // Two make it hot; and in Tier B one that waits may not be the right one while many tasks come and go on the host.
      for (let tries = 0; tries < 50 && !('pooled' in result && result.pooled); tries += 1) {
        await warm.warmed();
        result = await attempt();
      }
      expect(result).toMatchObject({ kind: 'completed', exitCode: 3, pooled: true });
      expect(stdoutOf(result)).toBe('ready\ngot it\n');
    } finally {
      await warm.close();
    }
  });
});
