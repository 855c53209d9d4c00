import { Code, ConnectError } from '@connectrpc/connect';

/** A message of a stream as it is on the wire: a byte of flags, four of its length, and its bytes. */
export interface Envelope {
  readonly flags: number;
  readonly data: Uint8Array;
}

export interface EnvelopeReader {
  /** Those that are whole by now. Throws `ConnectError` when one is larger than any may be. */
  take(chunk: Uint8Array): readonly Envelope[];
}

const HEAD_BYTES = 5;

export function envelope(data: Uint8Array): Uint8Array {
  const bytes = Buffer.allocUnsafe(HEAD_BYTES + data.length);
  bytes[0] = 0;
  bytes.writeUInt32BE(data.length, 1);
  bytes.set(data, HEAD_BYTES);
  return bytes;
}

/** `most`: how many bytes a message has at most. */
export function createEnvelopeReader(most: number): EnvelopeReader {
  // Put together when there is enough for one, and not with every piece of a large one.
  let pieces: Uint8Array[] = [];
  let held = 0;
  let needed = HEAD_BYTES;
  return {
    take(chunk) {
      pieces.push(chunk);
      held += chunk.length;
      if (held < needed) return [];
      const bytes = Buffer.concat(pieces, held);
      const found: Envelope[] = [];
      let at = 0;
      needed = HEAD_BYTES;
      while (held - at >= HEAD_BYTES) {
        const length = bytes.readUInt32BE(at + 1);
        if (length > most) throw new ConnectError('A message is larger than any may be.', Code.ResourceExhausted);
        if (held - at < HEAD_BYTES + length) {
          needed = HEAD_BYTES + length;
          break;
        }
        const from = at + HEAD_BYTES;
        at = from + length;
        // Not as a Buffer, whose `slice` and `toString` are others: what a message holds is given to users as it is here.
        const data = new Uint8Array(bytes.buffer, bytes.byteOffset + from, length);
        found.push({ flags: bytes[from - HEAD_BYTES] ?? 0, data });
      }
      pieces = at === held ? [] : [bytes.subarray(at)];
      held -= at;
      return found;
    },
  };
}
