import type { Duplex } from 'node:stream';

/** A connection as its user sees it: bytes are pulled, and writing waits for who reads slowly. */
export interface Line {
  /** The next bytes, or undefined at the end. One reader at a time. */
  read(): Promise<Buffer | undefined>;
  /** What was read too far; it comes first with the next read. */
  unread(bytes: Buffer): void;
  /** A promise only when the other side reads slowly. It settles too when the connection is gone: then nothing more is written. */
  write(bytes: Uint8Array | string): Promise<void> | undefined;
  /** What is written in this turn goes out as one. */
  gather(): void;
  /** Whether there is room for more; when not, `onDrain` tells. For those who carry bytes and do nothing else. */
  push(bytes: Buffer): boolean;
  onDrain(listener: () => void): void;
  /** From now on every chunk is pushed, with no queue between; `pause` and `resume` are the socket's. */
  flow(sink: { data(chunk: Buffer): void; end(): void }): void;
  pause(): void;
  resume(): void;
  /** Says the last words, and gives the other side a moment to read them before it is cut off. */
  finish(bytes?: Uint8Array | string): void;
  /** The same to one that has said all that it has to: cut off as soon as they are out, unless it goes on talking. */
  dismiss(bytes: Uint8Array | string): void;
  end(): void;
  destroy(): void;
  /** At once when it is gone already. Called once, when the other side has ended or the connection is closed. */
  onGone(listener: () => void): void;
  /** When the connection is closed for good, in both directions. */
  onClosed(listener: () => void): void;
  /** Calls when nothing has moved for so long. */
  onIdle(ms: number, listener: () => void): void;
  readonly isGone: boolean;
  readonly isClosed: boolean;
  /** Gives the socket away, with what was not read yet put back. The line is of no use afterwards. */
  release(): Duplex;
}

/** What is kept of a side that nobody listens to; then it has to wait. */
const QUEUED_BYTES = 128 * 1024;
/** How long a client that was refused may go on sending before it is cut off. */
const LINGER_MS = 2_000;

interface IdleSocket extends Duplex {
  setTimeout?(ms: number, listener?: () => void): unknown;
}

export function createLine(socket: IdleSocket): Line {
  let queue: Buffer[] = [];
  let queued = 0;
  let hasEnded = false;
  let isClosed = socket.destroyed;
  let isFinishing = false;
  let waiting: ((bytes: Buffer | undefined) => void) | undefined;
  let sink: { data(chunk: Buffer): void; end(): void } | undefined;
  let gone: (() => void)[] = [];
  let closed: (() => void)[] = [];

  function onData(chunk: Buffer): void {
    if (sink !== undefined) {
      sink.data(chunk);
    } else if (waiting !== undefined) {
      const give = waiting;
      waiting = undefined;
      give(chunk);
    } else {
      queue.push(chunk);
      queued += chunk.length;
      if (queued >= QUEUED_BYTES) socket.pause();
    }
  }
  function onEnd(): void {
    if (hasEnded) return;
    hasEnded = true;
    waiting?.(undefined);
    waiting = undefined;
    sink?.end();
    const listeners = gone;
    gone = [];
    for (const listener of listeners) listener();
  }
  function onClose(): void {
    isClosed = true;
    onEnd();
    const listeners = closed;
    closed = [];
    for (const listener of listeners) listener();
  }
  // What went wrong shows as an early end; there is nobody to tell more.
  const onError = (): void => {
    socket.destroy();
  };
  socket.on('data', onData);
  socket.on('end', onEnd);
  socket.on('close', onClose);
  socket.on('error', onError);

  /** What comes now is thrown away, or whoever sends it would hear of a broken connection instead of our last words. */
  function linger(heard: () => void): void {
    sink = { data: heard, end: () => {} };
    queue = [];
    queued = 0;
    if (hasEnded) return;
    socket.resume();
    const timer = setTimeout(() => socket.destroy(), LINGER_MS);
    closed.push(() => clearTimeout(timer));
  }
  const takeQueued = (): Buffer => {
    const [first = Buffer.alloc(0)] = queue;
    const bytes = queue.length === 1 ? first : Buffer.concat(queue);
    queue = [];
    queued = 0;
    return bytes;
  };

  return {
    read() {
      if (queued > 0) {
        const bytes = takeQueued();
        socket.resume();
        return Promise.resolve(bytes);
      }
      if (hasEnded || isClosed) return Promise.resolve(undefined);
      return new Promise((resolve) => {
        waiting = resolve;
      });
    },
    unread(bytes) {
      if (bytes.length === 0) return;
      if (waiting !== undefined) {
        const give = waiting;
        waiting = undefined;
        give(bytes);
        return;
      }
      queue.unshift(bytes);
      queued += bytes.length;
    },
    write(bytes) {
      if (isClosed || socket.destroyed || socket.writableEnded || socket.write(bytes)) return undefined;
      return new Promise((resolve) => {
        const done = (): void => {
          socket.off('drain', done);
          socket.off('close', done);
          resolve();
        };
        socket.on('drain', done);
        socket.on('close', done);
      });
    },
    gather() {
      socket.cork();
      process.nextTick(() => socket.uncork());
    },
    push(bytes) {
      return isClosed || socket.writableEnded || socket.write(bytes);
    },
    onDrain(listener) {
      socket.on('drain', listener);
    },
    flow(into) {
      sink = into;
      if (queued > 0) into.data(takeQueued());
      if (hasEnded) into.end();
      else socket.resume();
    },
    pause() {
      socket.pause();
    },
    resume() {
      socket.resume();
    },
    finish(bytes) {
      if (isClosed || isFinishing) return;
      isFinishing = true;
      if (bytes === undefined) socket.end();
      else socket.end(bytes);
      linger(() => {});
    },
    dismiss(bytes) {
      if (isClosed || isFinishing) return;
      isFinishing = true;
      let isTalking = queued > 0;
      // SECURITY: T-17 — one that was refused and does not hang up holds no place of its call.
      socket.end(bytes, () => {
        if (!isTalking) socket.destroy();
      });
      linger(() => {
        isTalking = true;
      });
    },
    end() {
      if (!socket.writableEnded) socket.end();
    },
    destroy() {
      socket.destroy();
    },
    onGone(listener) {
      if (hasEnded || isClosed) listener();
      else gone.push(listener);
    },
    onClosed(listener) {
      if (isClosed) listener();
      else closed.push(listener);
    },
    onIdle(ms, listener) {
      socket.setTimeout?.(ms, listener);
    },
    get isGone() {
      return hasEnded || isClosed;
    },
    get isClosed() {
      return isClosed;
    },
    release() {
      socket.pause();
      socket.off('data', onData);
      socket.off('end', onEnd);
      if (queued > 0) socket.unshift(takeQueued());
      return socket;
    },
  };
}
