/**
 * The language between the daemon and a worker, the same both ways: four bytes of length, one byte of kind, the payload.
 * JSON is one message; a blob is 32 bytes of SHA-256 and then the content.
 */
export type Frame =
  | { readonly kind: 'json'; readonly payload: Buffer }
  | { readonly kind: 'blob'; readonly sha256: string; readonly bytes: Buffer };

const HEADER = 5;
const KIND_JSON = 1;
const KIND_BLOB = 2;
const DIGEST = 32;

/** More than any limit allows: a length beyond it is not one. */
const MAX_FRAME: number = 64 * 1024 * 1024;

export function jsonFrame(message: unknown): Buffer {
  return frame(KIND_JSON, [Buffer.from(JSON.stringify(message))]);
}

export function blobFrame(sha256: string, bytes: Uint8Array): Buffer {
  return frame(KIND_BLOB, [Buffer.from(sha256, 'hex'), bytes]);
}

function frame(kind: number, parts: readonly Uint8Array[]): Buffer {
  const length = parts.reduce((sum, part) => sum + part.length, 0);
  const header = Buffer.alloc(HEADER);
  header.writeUInt32BE(length, 0);
  header.writeUInt8(kind, 4);
  return Buffer.concat([header, ...parts]);
}

export interface FrameReader {
  /** Whole frames that this piece completes. Throws when the bytes are no frames. */
  push(piece: Uint8Array): readonly Frame[];
}

export function createFrameReader(maxFrame: number = MAX_FRAME): FrameReader {
  let pieces: Uint8Array[] = [];
  let held = 0;
  let needed = HEADER;
  return {
    push(piece) {
      pieces.push(piece);
      held += piece.length;
      // A large frame comes in many pieces: they are joined once, when it is whole.
      if (held < needed) return [];
      let rest = Buffer.concat(pieces, held);
      const frames: Frame[] = [];
      for (;;) {
        needed = rest.length < HEADER ? HEADER : HEADER + lengthOf(rest, maxFrame);
        if (rest.length < needed) break;
        frames.push(decode(rest.readUInt8(4), rest.subarray(HEADER, needed)));
        rest = rest.subarray(needed);
      }
      pieces = rest.length === 0 ? [] : [rest];
      held = rest.length;
      return frames;
    },
  };
}

function lengthOf(header: Buffer, maxFrame: number): number {
  const length = header.readUInt32BE(0);
  // SECURITY: T-17 — a worker that announces four gigabytes must not make the daemon wait for them.
  if (length > maxFrame) throw new Error('A frame is longer than any may be.');
  return length;
}

function decode(kind: number, payload: Buffer): Frame {
  if (kind === KIND_JSON) return { kind: 'json', payload };
  if (kind === KIND_BLOB && payload.length >= DIGEST) {
    return { kind: 'blob', sha256: payload.subarray(0, DIGEST).toString('hex'), bytes: payload.subarray(DIGEST) };
  }
  throw new Error('A frame is of no known kind.');
}
