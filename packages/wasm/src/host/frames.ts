/** The language between palyrad and a WASM host, the same both ways: four bytes of length, one of type, the body. */
export interface Frame {
  readonly type: number;
  readonly body: Buffer;
}

const HEADER = 5;

/** A module, metered, with the files it is given; more than that no side believes. */
const MOST_FRAME_BYTES: number = 96 * 1024 * 1024;

export function frameOf(type: number, parts: readonly Uint8Array[]): Buffer {
  let length = 0;
  for (const part of parts) length += part.length;
  const bytes = Buffer.allocUnsafe(HEADER + length);
  bytes.writeUInt32LE(length, 0);
  bytes[4] = type;
  let at = HEADER;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
  }
  return bytes;
}

export interface FrameReader {
  /** Gives whole frames to `take`, whose bodies are views of what was pushed. Throws when the bytes are no frames. */
  push(piece: Buffer, take: (frame: Frame) => void): void;
  /** Whether the next frame has begun. */
  readonly isWithin: boolean;
}

/** `most` is what the other side may send at once. */
export function createFrameReader(most: number = MOST_FRAME_BYTES): FrameReader {
  /** What is there of the next frame, and room for more of it. */
  let kept: Buffer = NOTHING;
  let held = 0;
  let needed = HEADER;
  return {
    get isWithin() {
      return held > 0;
    },
    push(piece, take) {
      let rest = piece;
      if (held > 0) {
        // SECURITY: T-39 — copied together as it comes: pieces of one byte each would take a hundred times what they hold.
        if (held + piece.length > kept.length) kept = grown(kept.subarray(0, held), { piece, needed });
        kept.set(piece, held);
        held += piece.length;
        if (held < needed) return;
        rest = kept.subarray(0, held);
        kept = NOTHING;
        held = 0;
      }
      let at = 0;
      for (;;) {
        if (rest.length - at < HEADER) {
          needed = HEADER;
          break;
        }
        const length = rest.readUInt32LE(at);
        // SECURITY: T-27, T-56 — a length is believed up to the most that this side ever takes, before anything is kept for it.
        if (length > most) throw new Error('A frame is longer than any frame is.');
        needed = HEADER + length;
        if (rest.length - at < needed) break;
        take({ type: rest[at + 4] as number, body: rest.subarray(at + HEADER, at + needed) });
        at += needed;
      }
      if (at === rest.length) return;
      kept = rest.subarray(at);
      held = kept.length;
    },
  };
}

const NOTHING = Buffer.alloc(0);

/** Twice as large each time, and not larger than the frame: for what has not come there is no more room than for what has. */
function grown(kept: Buffer, { piece, needed }: { readonly piece: Buffer; readonly needed: number }): Buffer {
  const filled = kept.length + piece.length;
  const larger = Buffer.allocUnsafeSlow(Math.max(filled, Math.min(needed, 2 * filled)));
  larger.set(kept);
  return larger;
}
