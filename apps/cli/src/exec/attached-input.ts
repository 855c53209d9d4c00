import type { Readable } from 'node:stream';
import type { CommandContext, ForwardedSignal, OutputStream } from '../command.ts';

/** What a running command is given: the same words as on the wire. */
export type AttachedInput =
  | { readonly kind: 'bytes'; readonly bytes: Uint8Array }
  | { readonly kind: 'end' }
  | { readonly kind: 'resize'; readonly rows: number; readonly columns: number }
  | { readonly kind: 'signal'; readonly name: ForwardedSignal };

export interface Attachment {
  /** Asked of the tool: a terminal of this size, or nothing. */
  readonly terminal: { readonly rows: number; readonly columns: number; readonly name?: string } | undefined;
  readonly input: AsyncIterable<AttachedInput>;
  /** Has whoever draws on the terminal draw anew: it is told of another size, and then of this one. */
  redraw(): void;
  /** Gives the keyboard and the signals back. To be called in any case. */
  release(): void;
}

export interface AttachOptions {
  readonly stdin: boolean;
  readonly tty: boolean;
  /** Told of each signal before it is passed on. */
  onSignal?(): void;
  /** True: what was typed is for somebody else, and the command does not get it. */
  takes?(bytes: Uint8Array): boolean;
}

type Keyboard = Readable & { readonly isTTY?: boolean; setRawMode?(on: boolean): unknown };

/** A terminal where there is one on both sides; else standard input as it comes. Signals are passed on in both cases. */
export function attachInput(context: CommandContext, options: AttachOptions): Attachment {
  const { stdin: wantsStdin, tty } = options;
  const { stdout } = context.openOutput();
  const keyboard: Keyboard | undefined = wantsStdin ? context.openStdin() : undefined;
  const isTerminal = tty && keyboard?.isTTY === true && stdout.isTTY === true && !context.asJson;
  const queue = createQueue();

  const signals = context.takeSignals((name) => {
    options.onSignal?.();
    queue.push({ kind: 'signal', name });
  });
  const resized = () => queue.push({ kind: 'resize', ...sizeOf(stdout) });
  const typed = (bytes: Uint8Array) => {
    if (options.takes?.(bytes) === true) return;
    // In raw mode Ctrl-C is a byte; the command's own terminal makes a signal of it once there is one.
    if (isTerminal && bytes.includes(CTRL_C)) options.onSignal?.();
    queue.push({ kind: 'bytes', bytes });
    if (queue.waiting() > MOST_WAITING) keyboard?.pause();
  };
  const ended = () => queue.push({ kind: 'end' });
  queue.onDrained = () => keyboard?.resume();

  if (isTerminal) {
    keyboard.setRawMode?.(true);
    stdout.on('resize', resized);
  }
  keyboard?.on('data', typed).once('end', ended).once('error', ended);
  return {
    terminal: isTerminal ? { ...sizeOf(stdout), ...termOf(context) } : undefined,
    input: queue.items,
    redraw() {
      const { rows, columns } = sizeOf(stdout);
      if (!isTerminal) return;
      queue.push({ kind: 'resize', rows, columns: columns + 1 });
      queue.push({ kind: 'resize', rows, columns });
    },
    release() {
      signals.release();
      stdout.off('resize', resized);
      keyboard?.off('data', typed).off('end', ended).off('error', ended);
      if (isTerminal) keyboard.setRawMode?.(false);
      // Or the process stays to read what nobody wants any more.
      keyboard?.pause();
      queue.end();
    },
  };
}

const CTRL_C = 3;

/** Bytes read ahead of what the command takes: pieces of 64 KiB at most. */
const MOST_WAITING = 16;

function sizeOf({ rows = 24, columns = 80 }: OutputStream): { rows: number; columns: number } {
  return { rows: Math.max(1, rows), columns: Math.max(1, columns) };
}

function termOf({ variables }: CommandContext): { readonly name?: string } {
  const name = variables['TERM'];
  return name !== undefined && /^[A-Za-z0-9][A-Za-z0-9._+-]{0,63}$/.test(name) ? { name } : {};
}

interface Queue {
  push(item: AttachedInput): void;
  end(): void;
  waiting(): number;
  onDrained: () => void;
  readonly items: AsyncIterable<AttachedInput>;
}

function createQueue(): Queue {
  const waiting: AttachedInput[] = [];
  let isOver = false;
  let wake = (): void => undefined;
  const queue: Queue = {
    push(item) {
      waiting.push(item);
      wake();
    },
    end() {
      isOver = true;
      wake();
    },
    waiting: () => waiting.length,
    onDrained: () => undefined,
    items: items(),
  };
  async function* items(): AsyncGenerator<AttachedInput> {
    for (;;) {
      const next = waiting.shift();
      if (next !== undefined) yield next;
      else if (isOver) return;
      else {
        queue.onDrained();
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
    }
  }
  return queue;
}
