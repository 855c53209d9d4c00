import { createDoorLine, type DoorLine, type DoorLineDeps } from './door-line.ts';
import type { EgressCall } from './egress-call.ts';
import { isDoor } from './wire/door.ts';
import type { DoorNews } from './wire/messages.ts';

/** Connections of boxes that one proxy has put through. */
export interface LinkDoors {
  /** Throws for one that no call has: then the proxy is not to be believed any more. */
  open(id: number, call: EgressCall): void;
  hear(news: DoorNews): void;
  hearBytes(id: number, bytes: Uint8Array): void;
  /** The proxy is gone. */
  lost(): void;
}

export function createLinkDoors({ say, send }: Pick<DoorLineDeps, 'say' | 'send'>): LinkDoors {
  const lines = new Map<number, DoorLine>();
  return {
    open(id, { door }) {
      if (!isDoor(id) || lines.has(id) || door === undefined) throw new Error('A door of no call.');
      const line = createDoorLine({ id, say, send, over: () => void lines.delete(id) });
      lines.set(id, line);
      door(line.stream);
    },
    hear: (news) => lines.get(news.id)?.hear(news),
    hearBytes: (id, bytes) => lines.get(id)?.hearBytes(bytes),
    lost() {
      for (const line of lines.values()) line.lost();
    },
  };
}
