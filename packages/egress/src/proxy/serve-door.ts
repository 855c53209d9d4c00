import { DOOR_PIECE, DOOR_WINDOW, DOOR_WORD, FIRST_DOOR, MOST_DOORS } from '../wire/door.ts';
import { bytesFrame } from '../wire/frames.ts';
import type { DoorNews, FromProxy } from '../wire/messages.ts';
import type { Line } from './line.ts';

/** Connections that go to palyrad itself, over the wire that is there anyway: no port, no name, nothing to find. */
export interface Doors {
  /** Puts it through as the call's with this label. */
  serve(client: Line, label: string): void;
  hear(news: DoorNews): void;
  hearBytes(id: number, bytes: Uint8Array): void;
}

export interface DoorsDeps {
  send(bytes: Uint8Array): void;
  say(message: FromProxy): void;
}

interface OpenDoor {
  readonly client: Line;
  /** Sent to palyrad, and not taken yet. */
  unheard: number;
}

export function createDoors({ send, say }: DoorsDeps): Doors {
  const open = new Map<number, OpenDoor>();
  let made = 0;
  const pass = (id: number, door: OpenDoor, chunk: Buffer) => {
    for (let at = 0; at < chunk.length; at += DOOR_PIECE) send(bytesFrame(id, chunk.subarray(at, at + DOOR_PIECE)));
    door.unheard += chunk.length;
    // SECURITY: T-39 — who sends faster than palyrad reads waits.
    if (door.unheard >= DOOR_WINDOW) door.client.pause();
  };
  return {
    serve(client, label) {
      const id = FIRST_DOOR + (made % MOST_DOORS);
      made += 1;
      const door: OpenDoor = { client, unheard: 0 };
      open.set(id, door);
      say({ say: 'door', id, label });
      client.onClosed(() => {
        if (open.delete(id)) say({ say: 'door_closed', id });
      });
      client.flow({ data: (chunk) => pass(id, door, chunk), end: () => open.has(id) && say({ say: 'door_end', id }) });
    },
    hear(news) {
      const door = open.get(news.id);
      if (door === undefined) return;
      switch (news.say) {
        case 'door_taken':
          door.unheard -= news.bytes;
          if (door.unheard < DOOR_WINDOW) door.client.resume();
          return;
        case 'door_end':
          door.client.end();
          return;
        case 'door_closed':
          open.delete(news.id);
          door.client.destroy();
      }
    },
    hearBytes(id, bytes) {
      const door = open.get(id);
      if (door === undefined) return;
      const taken = () => open.has(id) && say({ say: 'door_taken', id, bytes: bytes.length });
      const written = door.client.write(bytes);
      if (written === undefined) taken();
      else void written.then(taken);
    },
  };
}

/** Whether it says the word; what was read is put back unless it does. */
export async function saysDoorWord(client: Line): Promise<boolean> {
  const word = Buffer.from(DOOR_WORD);
  let read: Buffer = Buffer.alloc(0);
  for (;;) {
    const isPart = read.subarray(0, word.length).equals(word.subarray(0, read.length));
    if (!isPart || read.length >= word.length) {
      client.unread(isPart ? read.subarray(word.length) : read);
      return isPart;
    }
    const more = await client.read();
    if (more === undefined) {
      client.unread(read);
      return false;
    }
    read = Buffer.concat([read, more]);
  }
}
