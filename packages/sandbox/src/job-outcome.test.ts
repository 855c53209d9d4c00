import { constants } from 'node:os';
import { describe, expect, test } from 'vitest';
import { failedToStart, launcherGone, notStarted, type OutcomeContext, outcomeOf, usageOf } from './job-outcome.ts';
import type { LaunchPlan } from './launch-plan.ts';
import type { EndReport } from './launcher/decode-reports.ts';
import { REASONS } from './launcher/wire.ts';
import type { Ran } from './run-result.ts';
import { SandboxError } from './sandbox-error.ts';

const PLAN: LaunchPlan = {
  executor: 'sandbox_tier_b',
  enforcement: { fileSystem: 'host', network: 'host' },
  wrapper: undefined,
  tool: { path: '/bin/true', argv: ['true'], environment: [], cwd: '/work', terminal: undefined },
  identity: undefined,
  staged: [],
  rlimits: [
    { name: 'nofile', soft: 1, hard: 1 },
    { name: 'cpu', soft: 2, hard: 3 },
  ],
  tmpfs: [],
  cgroups: [],
  data: [],
  filter: undefined,
  landlock: undefined,
  listener: false,
  watch: { wallMs: 1, idleMs: 1, outputBytes: 1, treeCpuMs: undefined, cpuCounter: undefined },
  expected: {
    identity: undefined,
    noGroups: false,
    namespaces: [],
    seccomp: true,
    noCapabilities: true,
    isolatedNetwork: false,
    rlimits: [],
    mounts: undefined,
    cgroups: [],
    landlock: true,
    listener: false,
    bound: [],
  },
};

const CONTEXT: OutcomeContext = { plan: PLAN, cgroupDriver: 'v2', readText: () => undefined };

const REPORT: EndReport = {
  exitCode: 0,
  signal: 0,
  exact: true,
  reason: 'none',
  started: true,
  full: false,
  userMs: 10,
  systemMs: 5,
  maxRssBytes: 4096,
  wallMs: 70,
  outputBytes: 3,
  cgroupFiles: {},
};

const RAN: Ran = {
  executor: PLAN.executor,
  enforcement: PLAN.enforcement,
  output: { stdout: Buffer.from('out'), stderr: Buffer.alloc(0) },
  usage: { wallMs: 70, userMs: 10, systemMs: 5, maxRssBytes: 4096, outputBytes: 3 },
  facts: undefined,
  protectedChanged: [],
  startedAt: 1,
  pooled: false,
  endedAt: 2,
};

function outcome(changed: Partial<EndReport>, context: Partial<OutcomeContext> = {}) {
  return outcomeOf({ ...REPORT, ...changed }, RAN, { ...CONTEXT, ...context });
}

const { SIGABRT, SIGKILL, SIGSEGV, SIGTERM, SIGXCPU, SIGXFSZ } = constants.signals;
const OOM = { '/c/memory.events': 'oom_kill 1\n' };
const FORKS = { '/c/pids.events': 'max 4\n' };

describe('why the launcher ended it', () => {
  test.each([
    ['wall', { kind: 'timed_out', limit: 'wall' }],
    ['idle', { kind: 'timed_out', limit: 'idle' }],
    ['cancelled', { kind: 'cancelled' }],
    ['output', { kind: 'quota_exceeded', quota: 'output' }],
    ['cpu', { kind: 'quota_exceeded', quota: 'cpu' }],
    ['none', { kind: 'signalled', signal: 'SIGKILL' }],
  ] as const)('%s is what it is told as', (reason, told) => {
    expect(outcome({ reason, signal: SIGKILL })).toEqual({ ...RAN, ...told });
  });

  test('every reason that there is says something of its own, also where a limit was hit, too', () => {
    const told = REASONS.map((reason) => {
      const { kind, limit, quota } = { limit: '', quota: '', ...outcome({ reason, exitCode: 1, cgroupFiles: OOM }) };
      return [kind, limit, quota].join(' ');
    });
    expect(told).toContain('quota_exceeded  memory');
    expect(new Set(told).size).toBe(REASONS.length);
  });
});

describe('how it ended by itself', () => {
  test.each([0, 1, 127, 128, 255])('with code %s', (exitCode) => {
    expect(outcome({ exitCode })).toEqual({ ...RAN, kind: 'completed', exitCode });
  });

  test.each([
    [SIGTERM, 'SIGTERM'],
    [SIGKILL, 'SIGKILL'],
    [SIGSEGV, 'SIGSEGV'],
    [SIGABRT, 'SIGABRT'],
    [63, 'SIG63'],
  ])('by signal %s, which is called %s', (signal, name) => {
    expect(outcome({ signal })).toEqual({ ...RAN, kind: 'signalled', signal: name });
  });
});

describe('which limit it did not survive', () => {
  test.each<[string, Partial<EndReport>]>([
    ['cpu', { signal: SIGXCPU }],
    ['cpu', { exitCode: 128 + SIGXCPU }],
    ['cpu', { signal: SIGKILL, userMs: 1500, systemMs: 500 }],
    ['cpu', { exitCode: 128 + SIGKILL, userMs: 2500, systemMs: 0 }],
    ['file_size', { signal: SIGXFSZ }],
    ['file_size', { exitCode: 128 + SIGXFSZ }],
    ['memory', { signal: SIGKILL, cgroupFiles: OOM }],
    ['memory', { exitCode: 1, cgroupFiles: OOM }],
    ['memory', { exitCode: 1, full: true, cgroupFiles: { ...FORKS, ...OOM } }],
    ['processes', { exitCode: 1, cgroupFiles: FORKS }],
    ['processes', { exitCode: 2, full: true, cgroupFiles: FORKS }],
    ['disk', { exitCode: 1, full: true }],
    ['disk', { signal: SIGTERM, full: true }],
    // The signal names its limit, and so is believed before what was counted on the way.
    ['file_size', { signal: SIGXFSZ, full: true, cgroupFiles: OOM }],
  ])('%s (%#)', (quota, changed) => {
    expect(outcome(changed)).toEqual({ ...RAN, kind: 'quota_exceeded', quota });
  });

  test.each<[string, Partial<EndReport>]>([
    ['succeeded all the same', { exitCode: 0, full: true, cgroupFiles: { ...OOM, ...FORKS } }],
    ['used much CPU and failed by itself', { exitCode: 1, userMs: 5000 }],
    [
      'counts nothing',
      { exitCode: 1, cgroupFiles: { '/c/memory.events': 'oom_kill 0\n', '/c/pids.events': 'max 0\n' } },
    ],
  ])('none, where it %s', (_, changed) => {
    expect(outcome(changed)).toEqual({ ...RAN, kind: 'completed', exitCode: changed.exitCode });
  });

  test('a kill just below the limit is somebody’s kill, and without a limit every one is', () => {
    const killed = { ...RAN, kind: 'signalled', signal: 'SIGKILL' };
    expect(outcome({ signal: SIGKILL, userMs: 1999, systemMs: 0 })).toEqual(killed);
    expect(outcome({ signal: SIGKILL, userMs: 1e9 }, { plan: { ...PLAN, rlimits: [] } })).toEqual(killed);
  });

  test('files that another kind of cgroup counts in are not read', () => {
    const oldOom = { '/m/memory.oom_control': 'oom_kill_disable 0\nunder_oom 0\noom_kill 2\n' };
    const failed = { ...RAN, kind: 'completed', exitCode: 1 };
    expect(outcome({ exitCode: 1, cgroupFiles: oldOom })).toEqual(failed);
    expect(outcome({ exitCode: 1, cgroupFiles: { ...OOM, ...FORKS } }, { cgroupDriver: 'none' })).toEqual(failed);
    const exceeded = { ...RAN, kind: 'quota_exceeded', quota: 'memory' };
    expect(outcome({ exitCode: 1, cgroupFiles: oldOom }, { cgroupDriver: 'v1' })).toEqual(exceeded);
  });
});

describe('what it used', () => {
  test('is what was waited for, where nothing else counted', () => {
    expect(usageOf(REPORT, CONTEXT)).toEqual(RAN.usage);
  });

  test('is with what only the cgroup saw, and with its peak of memory', () => {
    const cgroupFiles = { '/c/cpu.stat': 'usage_usec 100000\n', '/c/memory.peak': '9000\n' };
    expect(usageOf({ ...REPORT, cgroupFiles }, CONTEXT)).toEqual({ ...RAN.usage, userMs: 95, maxRssBytes: 9000 });
    expect(usageOf({ ...REPORT, cgroupFiles }, { ...CONTEXT, cgroupDriver: 'none' })).toEqual(RAN.usage);
  });

  test('does not become less by a cgroup that counted less', () => {
    const cgroupFiles = { '/c/cpu.stat': 'usage_usec 3000\n' };
    expect(usageOf({ ...REPORT, cgroupFiles }, CONTEXT)).toEqual(RAN.usage);
  });

  test('is nothing where there is no report', () => {
    const nothing = { wallMs: 0, userMs: 0, systemMs: 0, maxRssBytes: 0, outputBytes: 0 };
    expect(usageOf(undefined, CONTEXT)).toEqual(nothing);
  });
});

describe('why it did not start', () => {
  test.each([
    ['the program could not be executed: No such file or directory', 'sandbox.executable_not_found', 'on your PATH'],
    // Its interpreter may be what is not there.
    ['the program could not be executed: No such file or directory', 'sandbox.executable_not_found', 'first line'],
    ['the program could not be executed: Not a directory', 'sandbox.executable_not_found', 'on your PATH'],
    ['the program could not be executed: Permission denied', 'sandbox.executable_not_found', 'not executable'],
    ['the program could not be executed: Exec format error', 'sandbox.executable_not_found', 'first line'],
    ['the working directory cannot be entered: Permission denied', 'sandbox.invalid_command', 'working directory'],
    ['Too many commands are running.', 'sandbox.overloaded', 'Try again'],
    [
      'the program could not be executed: Too many levels of symbolic links',
      'sandbox.executable_not_found',
      'on your PATH',
    ],
    ['the program could not be executed: Argument list too long', 'sandbox.invalid_command', 'send it as input'],
    ['the program could not be executed: Text file busy', 'sandbox.start_failed', 'palyra doctor'],
    ['no one knows', 'sandbox.start_failed', 'palyra doctor'],
  ])('%s is %s (%s)', (message, code, fix) => {
    const result = { kind: 'failed_to_start', code, message: expect.any(String), fix: expect.stringContaining(fix) };
    expect(failedToStart(message, CONTEXT)).toEqual(result);
  });

  test('is told in a sentence', () => {
    const told = (message: string) => Object(failedToStart(message, CONTEXT)).message;
    expect(told('the program could not be executed: Not a directory')).toBe(
      'The program could not be executed: Not a directory.',
    );
    expect(told('Too many commands are running.')).toBe('Too many commands are running.');
  });

  test('a layer that this host does not allow is a refusal (T-20)', () => {
    for (const message of ['Landlock refuses a rule: Invalid argument', 'ids cannot be mapped: Invalid argument']) {
      expect(failedToStart(message, CONTEXT)).toEqual({
        kind: 'refused',
        code: 'sandbox.unsupported',
        message: expect.not.stringContaining('Invalid argument'),
        fix: expect.any(String),
      });
    }
  });

  test('a host that has run out of something is not one that cannot', () => {
    expect(failedToStart('no process can be made: Resource temporarily unavailable', CONTEXT)).toEqual({
      kind: 'failed_to_start',
      code: 'sandbox.start_failed',
      message: 'This host has run out of processes, memory or open files.',
      fix: 'End what uses them, or raise the limits of palyrad.',
    });
  });

  test('what bubblewrap said is explained by the host’s settings, and never repeated', () => {
    const said = (text: string, readText: OutcomeContext['readText'] = () => undefined) =>
      notStarted({ stdout: Buffer.alloc(0), stderr: Buffer.from(text) }, { ...CONTEXT, readText });
    const off = (path: string) => (path.endsWith('unprivileged_userns_clone') ? '0\n' : undefined);
    expect(said('bwrap: No permissions to create new namespace\n', off)).toEqual({
      kind: 'refused',
      code: 'sandbox.unsupported',
      message: 'User namespaces are off for ordinary users (kernel.unprivileged_userns_clone = 0).',
      fix: expect.any(String),
    });
    expect(said("bwrap: Can't find source path /home/op/x: No such file or directory\n")).toEqual({
      kind: 'failed_to_start',
      code: 'sandbox.start_failed',
      message: 'A path that the profile makes visible went away just now.',
      fix: expect.any(String),
    });
    expect(said('bwrap: /home/op/x is odd\n')).toEqual({
      kind: 'failed_to_start',
      code: 'sandbox.start_failed',
      message: 'The sandbox ended before the tool began.',
      fix: 'Run `palyra doctor` to see what this host enforces.',
    });
  });

  test('a launcher that is gone says why', () => {
    const fault = new SandboxError('sandbox.launcher_failed', 'The launcher ended.', { fix: 'Start it.' });
    expect(launcherGone(fault)).toEqual({
      kind: 'failed_to_start',
      code: 'sandbox.launcher_failed',
      message: 'The launcher ended.',
      fix: 'Start it.',
    });
  });
});
