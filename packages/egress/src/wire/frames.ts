/** Between palyrad and the proxy: four bytes of length, one of kind, and so many bytes. */
export type Frame =
  | { readonly kind: 'json'; readonly value: unknown }
  /** A piece of the body of the fetch with this id. */
  | { readonly kind: 'bytes'; readonly id: number; readonly bytes: Uint8Array };

const HEADER = 5;
const JSON_KIND = 1;
const BYTES_KIND = 2;

/** Larger than anything an honest side says; bodies come in pieces of `PIECE_BYTES`. */
const MOST_BYTES = 4 * 2 ** 20;
export const PIECE_BYTES: number = 256 * 2 ** 10;

export function jsonFrame(value: unknown): Uint8Array {
  const payload = Buffer.from(JSON.stringify(value), 'utf8');
  return framed(JSON_KIND, payload.length, (frame) => payload.copy(frame, HEADER));
}

export function bytesFrame(id: number, bytes: Uint8Array): Uint8Array {
  return framed(BYTES_KIND, bytes.length + 4, (frame) => {
    frame.writeUInt32BE(id, HEADER);
    frame.set(bytes, HEADER + 4);
  });
}

/** Takes bytes as they come and gives whole frames. Throws when what comes cannot be a frame: whoever sent it is not to be believed. */
export function createFrameReader(): (chunk: Uint8Array) => readonly Frame[] {
  let rest: Buffer = Buffer.alloc(0);
  return (chunk) => {
    rest = rest.length === 0 ? Buffer.from(chunk) : Buffer.concat([rest, chunk]);
    const frames: Frame[] = [];
    let at = 0;
    while (rest.length - at >= HEADER) {
      const length = rest.readUInt32BE(at);
      if (length > MOST_BYTES) throw new Error(`A frame of ${length} bytes is none.`);
      if (rest.length - at - HEADER < length) break;
      frames.push(frameOf(rest[at + 4] ?? 0, rest.subarray(at + HEADER, at + HEADER + length)));
      at += HEADER + length;
    }
    rest = rest.subarray(at);
    return frames;
  };
}

function framed(kind: number, length: number, fill: (frame: Buffer) => void): Uint8Array {
  if (length > MOST_BYTES) throw new Error(`A frame of ${length} bytes is not sent.`);
  const frame = Buffer.allocUnsafe(HEADER + length);
  frame.writeUInt32BE(length, 0);
  frame[4] = kind;
  fill(frame);
  return frame;
}

function frameOf(kind: number, payload: Buffer): Frame {
  if (kind === JSON_KIND) return { kind: 'json', value: JSON.parse(payload.toString('utf8')) };
  if (kind === BYTES_KIND && payload.length >= 4) {
    return { kind: 'bytes', id: payload.readUInt32BE(0), bytes: new Uint8Array(payload.subarray(4)) };
  }
  throw new Error(`A frame of kind ${kind} is none.`);
}
