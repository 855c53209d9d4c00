import { Socket } from 'node:net';

/** Input and output of a command that runs, without the launcher between. Nothing of it is counted or kept. */
export interface HandedPipes {
  /** In order; what is written in one turn goes together. Nothing happens when nobody reads it any more. */
  write(bytes: Uint8Array): void;
  /** The same; resolves when the kernel has it, false when nobody reads it any more. */
  send(bytes: Uint8Array): Promise<boolean>;
  /** When everything that it said was heard. */
  readonly ended: Promise<void>;
  close(): void;
  /** Each piece as it comes, from the first one on; the bytes are not written to again. */
  listen(listener: (bytes: Buffer) => void): void;
}

/** What the launcher says of a pipe, over the IPC channel that it was started with. */
interface HandedEnd {
  readonly job: number;
  readonly end: 'input' | 'output';
}

export interface PipeCollector {
  /** Whatever came over the channel. */
  take(message: unknown, handle: unknown): void;
}

/** Pipes come one by one; `whole` is told when a job has both. False: nobody wants them, and they are closed. */
export function collectPipes(whole: (job: number, pipes: HandedPipes) => boolean): PipeCollector {
  const inputs = new Map<number, Socket>();
  return {
    take(message, handle) {
      if (!(handle instanceof Socket)) return;
      // Without somebody who hears of errors they are thrown; that nobody reads any more is told when the command has ended.
      handle.on('error', () => handle.destroy());
      const { job, end } = message as HandedEnd;
      if (end === 'input') {
        inputs.set(job, handle);
        // Of one that was refused half way there is no other end.
        handle.once('close', () => inputs.delete(job));
        return;
      }
      const input = inputs.get(job);
      inputs.delete(job);
      const pipes = input === undefined ? undefined : openPipes(input, handle);
      if (pipes === undefined) handle.destroy();
      else if (!whole(job, pipes)) pipes.close();
    },
  };
}

function openPipes(input: Socket, output: Socket): HandedPipes {
  const ended = Promise.withResolvers<void>();
  output.once('close', () => ended.resolve());
  // The job keeps the process alive, and they end with it.
  input.unref();
  output.unref();
  let isCorked = false;
  const cork = () => {
    if (isCorked) return;
    isCorked = true;
    input.cork();
    process.nextTick(() => {
      isCorked = false;
      input.uncork();
    });
  };
  return {
    ended: ended.promise,
    listen: (listener) => void output.on('data', listener),
    write(bytes) {
      cork();
      if (input.writable) input.write(bytes);
    },
    send(bytes) {
      cork();
      if (!input.writable) return Promise.resolve(false);
      return new Promise((resolve) => input.write(bytes, (fault) => resolve(fault == null)));
    },
    close() {
      input.destroy();
      output.destroy();
    },
  };
}
