import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { RawFacts } from '../../packages/sandbox/src/facts/raw-facts.ts';
import type { LaunchPlan } from '../../packages/sandbox/src/launch-plan.ts';
import type { EndReport } from '../../packages/sandbox/src/launcher/decode-reports.ts';
import { findLauncher } from '../../packages/sandbox/src/launcher/find-launcher.ts';
import { type Job, type Launcher, startLauncher } from '../../packages/sandbox/src/launcher/start-launcher.ts';
import { seccompProgram } from '../../packages/sandbox/src/seccomp/filter.ts';

export const isRoot: boolean = process.geteuid?.() === 0;

/** Nobody's. */
const TOOL_ID = 879_900;

/** The launcher that the set-up compiled; without it there is nothing to test. */
export function launcherProgram(): string {
  const program = findLauncher();
  if (program === undefined) throw new Error('There is no launcher: run the set-up.');
  return program;
}

/** What becomes the tool inside a sandbox, compiled with it. */
export function stageProgram(): string {
  return join(dirname(launcherProgram()), 'palyra-stage');
}

export async function openLauncher(program: string = launcherProgram()): Promise<Launcher & AsyncDisposable> {
  const said: string[] = [];
  const launcher = await startLauncher({
    program,
    logger: { error: (...args) => void said.push(JSON.stringify(args)) },
  });
  return {
    ...launcher,
    async [Symbol.asyncDispose]() {
      await launcher.close();
      if (said.length > 0) throw new Error(`The launcher printed something: ${said.join(' ')}`);
    },
  };
}

export type PlanChanges = Partial<Omit<LaunchPlan, 'tool' | 'watch'>> & {
  readonly terminal?: LaunchPlan['tool']['terminal'];
  readonly cwd?: string;
  readonly watch?: Partial<LaunchPlan['watch']>;
};

/** The least that a launcher takes: no wall, no limits, only an identity where it is root. */
export function barePlan(argv: readonly [string, ...string[]], changes: PlanChanges = {}): LaunchPlan {
  const { terminal, cwd = '/', watch, ...rest } = changes;
  return {
    executor: 'test',
    enforcement: { fileSystem: 'host', network: 'host' },
    wrapper: undefined,
    tool: { path: argv[0], argv, environment: ['PATH=/usr/bin:/bin', 'LC_ALL=C'], cwd, terminal },
    identity: isRoot ? { uid: TOOL_ID, gid: TOOL_ID } : undefined,
    staged: [],
    rlimits: [],
    tmpfs: [],
    cgroups: [],
    data: [],
    filter: undefined,
    landlock: undefined,
    listener: false,
    watch: {
      wallMs: 60_000,
      idleMs: 60_000,
      outputBytes: 2 ** 30,
      treeCpuMs: undefined,
      cpuCounter: undefined,
      ...watch,
    },
    expected: {
      identity: undefined,
      noGroups: false,
      namespaces: [],
      seccomp: false,
      noCapabilities: true,
      isolatedNetwork: false,
      rlimits: [],
      mounts: undefined,
      cgroups: [],
      landlock: false,
      listener: false,
      bound: [],
    },
    ...rest,
  };
}

/** Where a planned one has it. */
const SECCOMP_FD = 10;

/**
 * A sandbox without files of its own, but filtered as a planned one is: where its init has no filter, the launcher waits a
 * second for one before it tells what it measured.
 */
export function inBubblewrap(options: string): Pick<LaunchPlan, 'wrapper' | 'data'> {
  const arch = process.arch === 'arm64' ? 'arm64' : 'x86_64';
  const stage = ['--seccomp', String(SECCOMP_FD), '/proc/self/fd/5', 'stage'];
  return {
    wrapper: ['/usr/bin/bwrap', '--dev-bind', '/', '/', ...options.split(' '), ...stage],
    data: [{ fd: SECCOMP_FD, bytes: seccompProgram({ arch, unixSockets: 'allowed' }) }],
  };
}

export function shell(script: string, changes: PlanChanges = {}): LaunchPlan {
  return barePlan(['/bin/sh', '-c', script], changes);
}

export function python(program: string, changes: PlanChanges = {}): LaunchPlan {
  return barePlan(['/usr/bin/python3', '-c', program], changes);
}

export type JobEnd =
  | { readonly kind: 'ended'; readonly report: EndReport }
  | { readonly kind: 'failed'; readonly message: string };

export interface LaunchOptions {
  readonly stdin?: boolean;
  /** Given at once; each byte that arrives is given again unless `refill` is `never`. */
  readonly credit?: number;
  readonly refill?: 'always' | 'never';
  /** `wait`: the test says go itself. */
  readonly word?: 'at_once' | 'wait';
}

export interface LaunchedJob extends Job {
  readonly facts: Promise<RawFacts>;
  readonly ended: Promise<JobEnd>;
  output(stream?: 'stdout' | 'stderr'): Buffer;
  taken(): number;
  /** Throws when the job ends before. */
  untilOutput(text: string): Promise<void>;
}

export function launch(launcher: Launcher, plan: LaunchPlan, options: LaunchOptions = {}): LaunchedJob {
  const { stdin = false, credit = 1024 * 1024, refill = 'always', word = 'at_once' } = options;
  const streams = { stdout: [] as Buffer[], stderr: [] as Buffer[] };
  const facts = Promise.withResolvers<RawFacts>();
  const ended = Promise.withResolvers<JobEnd>();
  let taken = 0;
  let isOver = false;
  const end = (how: JobEnd) => {
    isOver = true;
    ended.resolve(how);
  };
  const job: Job = launcher.start(
    plan,
    {
      facts(raw) {
        facts.resolve(raw);
        if (word === 'at_once') job.go();
      },
      output(stream, bytes) {
        streams[stream].push(Buffer.from(bytes));
        if (refill === 'always') job.allow(bytes.length);
      },
      taken(bytes) {
        taken += bytes;
      },
      ended: (report) => end({ kind: 'ended', report }),
      failed: (message) => end({ kind: 'failed', message }),
      lost: ({ message }) => end({ kind: 'failed', message }),
    },
    { stdin },
  );
  if (credit > 0) job.allow(credit);
  const output = (stream: 'stdout' | 'stderr' = 'stdout') => Buffer.concat(streams[stream]);
  return {
    ...job,
    facts: facts.promise,
    ended: ended.promise,
    output,
    taken: () => taken,
    async untilOutput(text) {
      await until(() => isOver || output().includes(text));
      if (!output().includes(text)) throw new Error(`The job ended without saying ${JSON.stringify(text)}.`);
    },
  };
}

/** Looking on every turn of the event loop took a CPU from those that are waited for. */
const LOOK_EVERY_MS = 2;

/** Looks again and again; the test's own timeout is the deadline. */
export async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await delay(LOOK_EVERY_MS);
}
