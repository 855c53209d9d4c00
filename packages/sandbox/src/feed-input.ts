import type { Job } from './launcher/start-launcher.ts';
import { STDIN_WINDOW } from './launcher/wire.ts';

/** Everything that a command is to read, and then the end. */
export type InputSource = Iterable<Uint8Array> | AsyncIterable<Uint8Array>;

export interface Input {
  feed(job: Job): Promise<void>;
  taken(bytes: number): void;
  stop(): void;
}

interface Sender {
  /** Resolves when the launcher has all of it, or it was stopped. */
  send(piece: Uint8Array, job: Pick<Job, 'write'>): Promise<void>;
  taken(bytes: number): void;
  stop(): void;
  isStopped(): boolean;
}

/** Sends no more than the launcher has room for. */
function createSender(): Sender {
  let room = STDIN_WINDOW;
  let stopped = false;
  let wake: (() => void) | undefined;
  const awaitRoom = () => new Promise<void>((resolve) => (wake = resolve));
  const roomChanged = () => {
    wake?.();
    wake = undefined;
  };
  return {
    async send(piece, job) {
      for (let at = 0; at < piece.length && !stopped; ) {
        while (room === 0 && !stopped) await awaitRoom();
        if (stopped) return;
        const part = piece.subarray(at, at + Math.min(room, STDIN_WINDOW / 4));
        room -= part.length;
        at += part.length;
        job.write(part);
      }
    },
    taken(bytes) {
      room += bytes;
      roomChanged();
    },
    stop() {
      stopped = true;
      roomChanged();
    },
    isStopped: () => stopped,
  };
}

/** A tool that does not read makes the source wait. */
export function createInput(source: InputSource = []): Input {
  const sender = createSender();
  return {
    async feed(job) {
      try {
        for await (const piece of source) {
          await sender.send(piece, job);
          if (sender.isStopped()) return;
        }
        job.endInput();
      } catch {
        // What the tool should have read is not to be had: it must not take a part for the whole.
        job.kill();
      }
    },
    taken: sender.taken,
    stop: sender.stop,
  };
}
