import { Duplex } from 'node:stream';
import { DOOR_PIECE, DOOR_WINDOW } from './wire/door.ts';
import { bytesFrame } from './wire/frames.ts';
import type { DoorNews } from './wire/messages.ts';

/** palyrad's end of one connection that was made inside a box and came to it. */
export interface DoorLine {
  readonly stream: Duplex;
  hear(news: DoorNews): void;
  hearBytes(bytes: Uint8Array): void;
  /** The proxy is gone, and the connection with it. */
  lost(): void;
}

export interface DoorLineDeps {
  readonly id: number;
  say(news: DoorNews): void;
  send(bytes: Uint8Array): void;
  /** It is over on both sides. */
  over(): void;
}

/** As much is on its way in each direction as the other side has room for. */
export function createDoorLine({ id, say, send, over }: DoorLineDeps): DoorLine {
  let isOver = false;
  let unread = 0;
  let unheard = 0;
  let waiting: (() => void) | undefined;
  const finish = (tell: boolean) => {
    if (isOver) return;
    isOver = true;
    if (tell) say({ say: 'door_closed', id });
    over();
  };
  const stream = new Duplex({
    read() {
      const bytes = unread;
      unread = 0;
      if (bytes > 0 && !isOver) say({ say: 'door_taken', id, bytes });
    },
    write(chunk: Buffer, _encoding, done) {
      const put = () => {
        waiting = undefined;
        for (let at = 0; at < chunk.length && !isOver; at += DOOR_PIECE) {
          send(bytesFrame(id, chunk.subarray(at, at + DOOR_PIECE)));
        }
        unheard += chunk.length;
        done();
      };
      if (unheard < DOOR_WINDOW || isOver) put();
      else waiting = put;
    },
    final(done) {
      if (!isOver) say({ say: 'door_end', id });
      done();
    },
    destroy(error, done) {
      waiting?.();
      finish(true);
      done(error);
    },
  });
  return {
    stream,
    hear(news) {
      if (news.say === 'door_taken') {
        unheard -= news.bytes;
        if (unheard < DOOR_WINDOW) waiting?.();
      } else if (news.say === 'door_end') stream.push(null);
      else {
        finish(false);
        stream.destroy();
      }
    },
    hearBytes(bytes) {
      // SECURITY: T-39 — the proxy keeps to the window, or is no proxy of ours any more.
      if (unread + bytes.length > DOOR_WINDOW + DOOR_PIECE * 4) stream.destroy();
      else if (!stream.readableEnded && !isOver) {
        unread += bytes.length;
        stream.push(bytes);
      }
    },
    lost() {
      finish(false);
      stream.destroy();
    },
  };
}
