import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join, relative } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import type { Binding, Refusal, SandboxCommand, SandboxProfile } from '@palyra/sandbox';
import { findLauncher } from '../../packages/sandbox/src/launcher/find-launcher.ts';
import type { Pretence } from './programs/pretended-sandbox.ts';
import type { DaemonEvent, DaemonOrder, DaemonSettings, Outcome, PlanInText } from './programs/sandbox-daemon.ts';
import { IS_ROOT, type Whereabouts } from './whereabouts.ts';

/** A process that owns a sandbox and stands for palyrad. */
export interface Daemon {
  readonly pid: number;
  readonly launcherPid: number;
  /** Which driver it found. */
  readonly cgroups: string;
  start(command: SandboxCommand, profile: SandboxProfile, options?: StartOptions): Started;
  run(command: SandboxCommand, profile: SandboxProfile, options?: StartOptions): Promise<Ended>;
  bind(command: SandboxCommand, profile: SandboxProfile): Promise<Binding | Refusal>;
  /** What it would tell the launcher. */
  plan(command: SandboxCommand, profile: SandboxProfile): Promise<PlanInText | Refusal>;
  /** Opens the gate of programs/label-gate.mjs; what it said, now and later, with `ended` for its end. */
  openGate(): Promise<() => string>;
  /** When no sandbox is being started ahead: how many wait. */
  warmed(): Promise<number>;
  close(): Promise<void>;
  /** SIGKILL, and waits until it is gone. */
  kill(): Promise<void>;
}

export interface StartOptions {
  readonly holdOutput?: boolean;
  readonly input?: string;
  readonly bound?: Binding;
  /** With a way out through the gate. */
  readonly label?: string;
}

export interface Started {
  /** The tool's first instruction. */
  readonly running: Promise<void>;
  readonly ended: Promise<Ended>;
  /** What it has written so far; of each piece the first 4 KiB. */
  text(): string;
  consume(): void;
  cancel(): void;
}

/** Flat, so that a test compares what it cares for. */
export interface Ended {
  readonly kind: Outcome['kind'];
  readonly detail: string;
  readonly stdout: string;
  readonly stderr: string;
  readonly outcome: Outcome;
}

export interface DaemonOptions {
  readonly launcherProgram?: string;
  readonly environment?: Readonly<Record<string, string>>;
  /** A program that does something to itself and then becomes the daemon. */
  readonly through?: readonly string[];
  /** The same, before it becomes an ordinary user. */
  readonly asRoot?: readonly string[];
  readonly pretence?: Pretence;
  /** Off unless told: what waits for the next command would be left behind by each test. */
  readonly pool?: DaemonSettings['pool'];
}

type DaemonProcess = ChildProcess & { readonly stdin: Writable; readonly stdout: Readable };

/** Throws the code when the sandbox cannot be made. */
export async function startDaemon(place: Whereabouts, options: DaemonOptions = {}): Promise<Daemon> {
  const child = spawnDaemon(place, options);
  const gone = once(child, 'close');
  const jobs = new Map<number, Job>();
  const questions: ((answer: Binding | Refusal) => void)[] = [];
  const plans: ((plan: PlanInText | Refusal) => void)[] = [];
  const warmed: ((waiting: number) => void)[] = [];
  let said = '';
  let gateOpened: ((text: () => string) => void) | undefined;
  const ready = Promise.withResolvers<Extract<DaemonEvent, { event: 'ready' }>>();
  createInterface({ input: child.stdout }).on('line', (line) => {
    const event = JSON.parse(line) as DaemonEvent;
    if (event.event === 'ready') ready.resolve(event);
    else if (event.event === 'refused') ready.reject(new Error(event.code));
    else if (event.event === 'bound') questions[event.question]?.(event.answer);
    else if (event.event === 'planned') plans.shift()?.(event.plan);
    else if (event.event === 'gate') {
      said += event.text;
      gateOpened?.(() => said);
    } else if (event.event === 'warmed') warmed.shift()?.(event.waiting);
    else jobs.get(event.id)?.hear(event);
  });
  void gone.then(() => ready.reject(new Error('The daemon ended.')));
  const tell = (order: DaemonOrder) => void child.stdin.write(`${JSON.stringify(order)}\n`);
  child.stdin.on('error', () => {});

  const { launcherPid, cgroups } = await ready.promise;
  const start: Daemon['start'] = (command, profile, { holdOutput = false, input, bound, label } = {}) => {
    const id = jobs.size + 1;
    const job = createJob();
    jobs.set(id, job);
    void gone.then(() => job.lost());
    tell({ order: 'run', id, command, profile, holdOutput, input, bound, label });
    return {
      ...job.started,
      consume: () => tell({ order: 'consume', id }),
      cancel: () => tell({ order: 'cancel', id }),
    };
  };
  return {
    pid: child.pid ?? 0,
    launcherPid,
    cgroups,
    start,
    run: (command, profile, runOptions) => start(command, profile, runOptions).ended,
    bind(command, profile) {
      tell({ order: 'bind', question: questions.length, command, profile });
      return new Promise((resolve) => questions.push(resolve));
    },
    plan(command, profile) {
      tell({ order: 'plan', command, profile });
      return new Promise((resolve) => plans.push(resolve));
    },
    openGate() {
      said = '';
      tell({ order: 'gate' });
      return new Promise((resolve) => (gateOpened = resolve));
    },
    warmed() {
      tell({ order: 'warm' });
      return new Promise((resolve) => warmed.push(resolve));
    },
    async close() {
      tell({ order: 'close' });
      await gone;
    },
    async kill() {
      child.kill('SIGKILL');
      await gone;
    },
  };
}

function spawnDaemon(
  place: Whereabouts,
  {
    launcherProgram = launcherIn(place.checkout),
    environment = {},
    through = [],
    asRoot = [],
    pretence,
    pool = 'off',
  }: DaemonOptions,
): DaemonProcess {
  const { home, palyraHome, checkout, node, compiled } = place;
  const path = '/usr/local/bin:/usr/bin:/bin';
  const settings: DaemonSettings = {
    operator: { path, home, palyraHome, environment: {} },
    launcherProgram,
    pretence,
    pool,
  };
  const script = join(checkout, 'tests/attack/programs/sandbox-daemon.ts');
  const daemon = [...through, node, '--conditions=palyra-source', script, JSON.stringify(settings)];
  const [file = '', ...args] = [...asRoot, ...as(place, daemon)];
  return spawn(file, args, {
    cwd: place.base,
    env: {
      PATH: path,
      HOME: home,
      ...(compiled === undefined ? {} : { NODE_COMPILE_CACHE: compiled }),
      ...environment,
    },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
}

/** The command line that starts something as the place's user. */
export function as({ uid }: Pick<Whereabouts, 'uid'>, argv: readonly string[]): readonly string[] {
  if (!IS_ROOT || uid === 0) return argv;
  const identity = [`--reuid=${uid}`, `--regid=${uid}`, '--clear-groups', '--inh-caps=-all'];
  return ['setpriv', ...identity, '--pdeathsig=KILL', '--', ...argv];
}

export function launcherIn(checkout: string): string {
  const program = findLauncher();
  if (program === undefined) throw new Error('There is no launcher: run tools/setup.mjs.');
  const ours = new URL('../../', import.meta.url).pathname;
  return join(checkout, relative(ours, program));
}

interface Job {
  readonly started: Pick<Started, 'running' | 'ended' | 'text'>;
  hear(event: Extract<DaemonEvent, { id: number }>): void;
  lost(): void;
}

function createJob(): Job {
  const running = Promise.withResolvers<void>();
  const ended = Promise.withResolvers<Ended>();
  const pieces: string[] = [];
  // Not every test waits for everything.
  running.promise.catch(() => {});
  ended.promise.catch(() => {});
  return {
    started: { running: running.promise, ended: ended.promise, text: () => pieces.join('') },
    hear(event) {
      if (event.event === 'started') running.resolve();
      else if (event.event === 'output') pieces.push(event.text);
      else {
        running.reject(new Error(`It never ran: ${JSON.stringify(event.outcome)}`));
        ended.resolve(flat(event.outcome));
      }
    },
    lost() {
      running.reject(new Error('The daemon is gone.'));
      ended.reject(new Error('The daemon is gone.'));
    },
  };
}

function flat(outcome: Outcome): Ended {
  const { stdout, stderr } = 'output' in outcome ? outcome.output : { stdout: '', stderr: '' };
  return { kind: outcome.kind, detail: detailOf(outcome), stdout, stderr, outcome };
}

function detailOf(outcome: Outcome): string {
  switch (outcome.kind) {
    case 'completed':
      return String(outcome.exitCode);
    case 'signalled':
      return outcome.signal;
    case 'timed_out':
      return outcome.limit;
    case 'cancelled':
    case 'lost':
      return '';
    case 'quota_exceeded':
      return outcome.quota;
    case 'refused':
    case 'failed_to_start':
      return outcome.code;
  }
}
