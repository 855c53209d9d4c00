import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { createFrameReader, encodeFrame, type Frame } from '../../packages/sandbox/src/launcher/wire.ts';
import { until } from './launched-job.ts';

/** A launcher to which anything can be said, also what `start-launcher.ts` never would. */
export interface RawLauncher extends AsyncDisposable {
  readonly pid: number;
  readonly process: ChildProcess;
  /** Everything it said, in order. */
  readonly frames: readonly Frame[];
  /** Jobs whose pipes it gave away, in order; each has two, and they are closed at once. */
  readonly handed: readonly number[];
  /** What it printed; a sanitizer speaks here. */
  printed(): string;
  send(kind: number, job: number, payload?: Uint8Array): void;
  sendBytes(bytes: Uint8Array): void;
  /** The first frame for which this holds; throws when the launcher ends before. */
  frame(wanted: (frame: Frame) => boolean): Promise<Frame>;
  /** Closes the socket and waits; how it ended. */
  close(): Promise<{ readonly code: number | null; readonly signal: NodeJS.Signals | null }>;
}

export interface RawOptions {
  /** Whether it has a channel for pipes, as palyrad's has. */
  readonly hands?: 'free' | 'none';
}

export async function startRawLauncher(
  argv: readonly [string, ...string[]],
  { hands = 'none' }: RawOptions = {},
): Promise<RawLauncher> {
  const [file, ...args] = argv;
  const child = spawn(file, args, {
    stdio: ['ignore', 'ignore', 'pipe', 'pipe', ...(hands === 'free' ? (['ipc'] as const) : [])],
    env: { PATH: '/usr/bin:/bin' },
    cwd: '/',
  });
  const control = child.stdio[3] as Socket;
  const closed = once(child, 'close') as Promise<[number | null, NodeJS.Signals | null]>;
  const frames: Frame[] = [];
  const printed: Buffer[] = [];
  const handed: number[] = [];
  child.on('message', (message: { readonly job: number }, handle) => {
    handed.push(message.job);
    (handle as Socket).destroy();
  });
  const read = createFrameReader();
  let isGone = false;
  void closed.then(() => (isGone = true));
  child.stderr?.on('data', (bytes: Buffer) => printed.push(bytes));
  // It may be gone while we still speak.
  control.on('error', () => {});
  control.on('data', (chunk: Buffer) => {
    for (const { kind, job, payload } of read(chunk)) frames.push({ kind, job, payload: Buffer.from(payload) });
  });

  const launcher: RawLauncher = {
    pid: child.pid ?? 0,
    process: child,
    frames,
    handed,
    printed: () => Buffer.concat(printed).toString(),
    send: (kind, job, payload) => void control.write(encodeFrame(kind, job, payload)),
    sendBytes: (bytes) => void control.write(bytes),
    async frame(wanted) {
      await until(() => isGone || frames.some(wanted));
      const found = frames.find(wanted);
      if (found === undefined) throw new Error(`The launcher ended without saying it. ${launcher.printed()}`);
      return found;
    },
    async close() {
      control.end();
      const [code, signal] = await closed;
      return { code, signal };
    },
    async [Symbol.asyncDispose]() {
      await launcher.close();
    },
  };
  await launcher.frame(({ job }) => job === 0);
  return launcher;
}
