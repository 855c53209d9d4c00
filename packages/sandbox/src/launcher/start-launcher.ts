import { type ChildProcess, spawn } from 'node:child_process';
import type { Socket } from 'node:net';
import type { Logger } from '@palyra/primitives';
import type { RawFacts } from '../facts/raw-facts.ts';
import type { LaunchPlan, ToolIdentity } from '../launch-plan.ts';
import { SandboxError } from '../sandbox-error.ts';
import { decodeEnd, decodeFacts, type EndReport } from './decode-reports.ts';
import {
  encodeGate,
  encodeRequest,
  encodeWord,
  type GatePlan,
  type RequestOptions,
  terminalSize,
  type Word,
} from './encode-request.ts';
import { collectPipes, type HandedPipes } from './handed-pipes.ts';
import { encodeSignal, type PassedSignal } from './passed-signals.ts';
import { createFrameReader, encodeFrame, FROM_LAUNCHER, type Frame, TO_LAUNCHER, WIRE_VERSION } from './wire.ts';

/** The small program that starts tools. One for the whole process, started before that grows. */
export interface Launcher {
  readonly about: LauncherFacts;
  /** Events come in order: perhaps `facts`, any output, then `ended` or `failed`, once. Throws `sandbox.launcher_failed`. */
  start(plan: LaunchPlan, events: JobEvents, options?: Partial<RequestOptions>): Job;
  /** The same for a program outside of every sandbox, to which listeners are passed. It keeps no process alive. */
  startGate(plan: GatePlan, events: JobEvents): Job;
  /** Ends every job and the launcher, and waits until it is gone. */
  close(): Promise<void>;
}

/** What it says of itself when it starts. */
export interface LauncherFacts {
  readonly pid: number;
  /** Together with the pid it names this launcher and no other, ever. */
  readonly startTicks: number;
  readonly uid: number;
  readonly gid: number;
  /** 0 without Landlock. */
  readonly landlockVersion: number;
  /** Seccomp filters that it is under itself, in a container for example. */
  readonly seccompFilters: number;
  /** Whose tools it starts, and nobody else's; absent when that was not said. */
  readonly only?: ToolIdentity;
}

export interface Job {
  /** As the launcher knows it. */
  readonly number: number;
  /** The facts are as planned: run it; with this tool, and this way out, if it is one that is told of them now. */
  go(word?: Word): void;
  kill(): void;
  /** So many more bytes of output may be sent. */
  allow(bytes: number): void;
  write(bytes: Uint8Array): void;
  /** In a terminal the key for it is pressed. */
  endInput(): void;
  resize(rows: number, columns: number): void;
  /** Ignored before the word, and when it has ended. */
  signal(name: PassedSignal): void;
}

export interface JobEvents {
  facts(facts: RawFacts): void;
  output(stream: 'stdout' | 'stderr', bytes: Buffer): void;
  /** So many bytes of input were taken. */
  taken(bytes: number): void;
  /** Of one whose streams are handed over, after the word. */
  pipes?(pipes: HandedPipes): void;
  ended(report: EndReport): void;
  failed(message: string): void;
  /** The launcher is gone, and everything that it ran with it. */
  lost(fault: SandboxError): void;
}

export interface LauncherOptions {
  readonly program: string;
  /** It refuses tools of anybody else, whoever asks. */
  readonly only?: ToolIdentity | undefined;
  /** Whom gates belong to, where tools are of one user only; without it there are none then. */
  readonly gate?: ToolIdentity | undefined;
  readonly logger: Pick<Logger, 'error'>;
}

/** Resolves when it has said hello. Throws `sandbox.launcher_missing` and `sandbox.launcher_failed`. */
export async function startLauncher({ program, only, gate, logger }: LauncherOptions): Promise<Launcher> {
  const args = only === undefined ? [] : [`--only=${only.uid}:${only.gid}`];
  if (only !== undefined && gate !== undefined) args.push(`--gate=${gate.uid}:${gate.gid}`);
  // SECURITY: T-40 — an inherited socket and no name: who is not our child cannot speak to it.
  const child = spawn(program, args, { stdio: ['ignore', 'ignore', 'pipe', 'pipe', 'ipc'], env: {}, cwd: '/' });
  const control = child.stdio[3] as Socket;
  const jobs = new Map<number, JobEvents>();
  /** Those that somebody waits for: not sandboxes that wait for a tool. */
  const awaited = new Set<number>();
  /** Of them, those that nobody waits for any more when their pipes are here. */
  const untilPipes = new Set<number>();
  const exited = new Promise<void>((resolve) => child.once('close', () => resolve()));
  let gone: SandboxError | undefined;

  child.stderr?.on('data', (text: Buffer) => {
    logger.error({ text: text.toString('utf8').trim() }, 'The launcher said something.');
  });
  const lost = (fault: SandboxError) => {
    gone ??= fault;
    const unheard = [...jobs.values()];
    jobs.clear();
    for (const events of unheard) events.lost(gone);
  };
  control.on('error', () => lost(launcherGone()));
  void exited.then(() => lost(launcherGone()));

  const collector = collectPipes((job, pipes) => {
    const take = jobs.get(job)?.pipes;
    take?.(pipes);
    if (untilPipes.has(job)) forgo(job);
    return take !== undefined;
  });
  child.on('message', (message: unknown, handle: unknown) => collector.take(message, handle));

  const about = await hello(child, control, (frame) => dispatch(frame, jobs)).catch((fault: unknown) => {
    // A stranger that goes on living would keep this process alive, too.
    child.kill('SIGKILL');
    control.destroy();
    throw fault;
  });
  unreference(child, control);
  let nextId = 0;

  const expect = (id: number) => {
    if (!jobs.has(id)) return;
    awaited.add(id);
    reference(child, control);
  };
  const forgo = (id: number) => {
    awaited.delete(id);
    untilPipes.delete(id);
    // Whoever closes it waits for it, also when the last job has ended by that.
    if (awaited.size === 0 && gone === undefined) unreference(child, control);
  };
  // What is said in this turn goes out in one write: each would wake the launcher.
  const sayInOneWrite = () => {
    control.cork();
    process.nextTick(() => control.uncork());
  };
  const send = (kind: number, job: number, payload?: Uint8Array) => {
    if (gone === undefined) control.write(encodeFrame(kind, job, payload));
  };
  const begin = (events: JobEvents, payload: Buffer, awaitedIn: Awaited): Job => {
    if (gone !== undefined) throw gone;
    nextId = (nextId + 1) % 0xffff_ffff;
    const id = nextId;
    jobs.set(id, events);
    if (awaitedIn !== 'from_word') expect(id);
    if (awaitedIn === 'until_pipes') untilPipes.add(id);
    sayInOneWrite();
    send(TO_LAUNCHER.start, id, payload);
    return {
      number: id,
      go(word = {}) {
        expect(id);
        if (word.tool !== undefined) sayInOneWrite();
        send(TO_LAUNCHER.go, id, encodeWord(word));
      },
      kill() {
        expect(id);
        send(TO_LAUNCHER.kill, id);
      },
      allow: (bytes) => send(TO_LAUNCHER.credit, id, u32(bytes)),
      write: (bytes) => send(TO_LAUNCHER.stdin, id, bytes),
      endInput: () => send(TO_LAUNCHER.stdinEnd, id),
      resize: (rows, columns) => send(TO_LAUNCHER.resize, id, terminalSize(rows, columns)),
      signal: (name) => send(TO_LAUNCHER.signal, id, encodeSignal(name)),
    };
  };
  return {
    about,
    start(plan, events, { stdin = false, ...options } = {}) {
      const awaitedIn = options.toolLaterMs === undefined ? 'always' : 'from_word';
      return begin(events, encodeRequest(plan, { stdin, ...options }), awaitedIn);
    },
    startGate: (plan, events) => begin(events, encodeGate(plan), 'until_pipes'),
    async close() {
      reference(child, control);
      // It is gone when all of its streams are: without this a process that waits for nothing else would not wait for it.
      (child.stderr as Socket | null)?.ref();
      gone ??= new SandboxError('sandbox.launcher_failed', CLOSED);
      control.end();
      await exited;
    },
  };

  /** An idle launcher does not keep the process alive, a job does. */
  function dispatch(frame: Frame, waiting: Map<number, JobEvents>): void {
    const events = waiting.get(frame.job);
    if (events === undefined) return;
    const isLast = frame.kind === FROM_LAUNCHER.ended || frame.kind === FROM_LAUNCHER.failed;
    if (isLast) {
      waiting.delete(frame.job);
      forgo(frame.job);
    }
    try {
      tell(frame, events);
    } catch (error) {
      if (!(error instanceof SandboxError)) throw error;
      lost(error);
      control.destroy();
    }
  }
}

/** While somebody waits for a job, this process lives: for a command; for one that waits for its tool; for a gate. */
type Awaited = 'always' | 'from_word' | 'until_pipes';

/** What a job hears that is still running when its launcher is closed. */
export const CLOSED = 'The launcher is closed.';

function tell({ kind, payload }: Frame, events: JobEvents): void {
  if (kind === FROM_LAUNCHER.facts) events.facts(decodeFacts(payload));
  else if (kind === FROM_LAUNCHER.stdout) events.output('stdout', payload);
  else if (kind === FROM_LAUNCHER.stderr) events.output('stderr', payload);
  else if (kind === FROM_LAUNCHER.stdinTaken) events.taken(payload.readUInt32LE(0));
  else if (kind === FROM_LAUNCHER.ended) events.ended(decodeEnd(payload));
  else if (kind === FROM_LAUNCHER.failed) events.failed(payload.toString('utf8'));
}

function hello(child: ChildProcess, control: Socket, onFrame: (frame: Frame) => void): Promise<LauncherFacts> {
  return new Promise((resolve, reject) => {
    const read = createFrameReader();
    child.once('error', (cause: NodeJS.ErrnoException) => reject(cause.code === 'ENOENT' ? missing() : broken(cause)));
    child.once('close', () => reject(launcherGone()));
    control.on('data', (chunk: Buffer) => {
      for (const frame of read(chunk)) {
        if (frame.kind !== FROM_LAUNCHER.hello) onFrame(frame);
        else {
          const about = parseHello(frame.payload.toString('utf8'));
          if (about === undefined) reject(broken(undefined));
          else resolve(about);
        }
      }
    });
  });
}

function parseHello(text: string): LauncherFacts | undefined {
  const fields = new Map(text.split('\n').map((line) => line.split('=') as [string, string]));
  const number = (name: string) => Number(fields.get(name) ?? Number.NaN);
  const about = {
    pid: number('pid'),
    startTicks: number('start'),
    uid: number('uid'),
    gid: number('gid'),
    landlockVersion: number('landlock'),
    seccompFilters: number('filters'),
  };
  const isWhole = number('version') === WIRE_VERSION && Object.values(about).every(Number.isSafeInteger);
  if (!isWhole || !fields.has('only_uid')) return isWhole ? about : undefined;
  return { ...about, only: { uid: number('only_uid'), gid: number('only_gid') } };
}

function reference(child: ChildProcess, control: Socket): void {
  child.ref();
  control.ref();
}

function unreference(child: ChildProcess, control: Socket): void {
  child.unref();
  control.unref();
  child.channel?.unref();
  (child.stderr as Socket | null)?.unref();
}

function u32(value: number): Buffer {
  const bytes = Buffer.allocUnsafe(4);
  bytes.writeUInt32LE(value);
  return bytes;
}

function missing(): SandboxError {
  return new SandboxError('sandbox.launcher_missing', 'There is no launcher for this machine.', {
    fix: 'Run the set-up (it compiles the launcher), or install a release, which brings it along.',
  });
}

function broken(cause: unknown): SandboxError {
  return new SandboxError('sandbox.launcher_failed', 'The launcher cannot be started, or is of another version.', {
    cause,
    fix: 'Run the set-up again.',
  });
}

function launcherGone(): SandboxError {
  return new SandboxError('sandbox.launcher_failed', 'The launcher ended; what it ran has ended with it.', {
    fix: 'Start palyrad again; its log says why.',
  });
}
