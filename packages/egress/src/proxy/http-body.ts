import { setImmediate as nextTurn } from 'node:timers/promises';
import { BadHead, type Framing } from './http-head.ts';
import type { Line } from './line.ts';

/** Where the pieces of a body go. A promise means: wait before the next piece. */
export type BodySink = (piece: Buffer) => Promise<void> | undefined;

/** The other side went away in the middle of a body. */
export class CutShort extends Error {}

export type BodyFraming = Framing | { readonly kind: 'until-close' };

/** Reads one body, exactly, and leaves what is behind it on the line. Throws `BadHead` or `CutShort`. */
export async function readBody(line: Line, framing: BodyFraming, sink: BodySink): Promise<void> {
  switch (framing.kind) {
    case 'none':
      return;
    case 'length':
      return readLength(line, framing.bytes, sink);
    case 'chunked':
      return readChunks(line, sink);
    case 'until-close':
      return readToEnd(line, sink);
  }
}

/** How a body is written on. Chunks are made anew, so nothing of how they came gets through. */
export function bodyWriter(
  line: Line,
  framing: BodyFraming,
): { readonly piece: BodySink; end(): Promise<void> | undefined } {
  if (framing.kind !== 'chunked') return { piece: (piece) => line.write(piece), end: () => undefined };
  return {
    piece(piece) {
      return line.write(Buffer.concat([Buffer.from(`${piece.length.toString(16)}\r\n`, 'latin1'), piece, CRLF]));
    },
    end: () => line.write('0\r\n\r\n'),
  };
}

const CRLF = Buffer.from('\r\n', 'latin1');

async function readLength(line: Line, bytes: number, sink: BodySink): Promise<void> {
  for (let left = bytes; left > 0; ) {
    const chunk = await line.read();
    if (chunk === undefined) throw new CutShort();
    const piece = chunk.length <= left ? chunk : chunk.subarray(0, left);
    if (piece.length < chunk.length) line.unread(chunk.subarray(left));
    left -= piece.length;
    await sink(piece);
  }
}

async function readToEnd(line: Line, sink: BodySink): Promise<void> {
  for (let chunk = await line.read(); chunk !== undefined; chunk = await line.read()) await sink(chunk);
}

/** SECURITY: T-25 — chunks by the letter: hexadecimal without sign or blank, CR LF, and extensions that are dropped. */
const SIZE_LINE = /^([0-9a-fA-F]{1,8})(?:[ \t]*;[\t -~]*)?$/;
const LINE_BYTES = 1_024;
const TRAILER_BYTES = 16 * 1024;
/** SECURITY: T-39 — so many at a time: what is there already would be read in one go, and everybody else would wait. */
const CHUNKS_A_TURN = 64;

async function readChunks(line: Line, sink: BodySink): Promise<void> {
  for (let chunks = 1; ; chunks += 1) {
    if (chunks % CHUNKS_A_TURN === 0) await nextTurn();
    const [, digits] = SIZE_LINE.exec(await readLine(line)) ?? [];
    if (digits === undefined) throw new BadHead('it has a chunk without a size');
    const size = Number.parseInt(digits, 16);
    if (size === 0) break;
    await readLength(line, size, sink);
    if ((await readLine(line)) !== '') throw new BadHead('it has a chunk that is longer than it says');
  }
  // Trailers are read and dropped: nobody here decides by them, and nobody behind us shall.
  for (let bytes = 0; ; ) {
    const trailer = await readLine(line);
    if (trailer === '') return;
    bytes += trailer.length;
    if (bytes > TRAILER_BYTES) throw new BadHead('its trailers are too large');
  }
}

/** Up to CR LF, which is not part of it. */
async function readLine(line: Line): Promise<string> {
  let bytes: Buffer = Buffer.alloc(0);
  for (;;) {
    const chunk = await line.read();
    if (chunk === undefined) throw new CutShort();
    bytes = bytes.length === 0 ? chunk : Buffer.concat([bytes, chunk]);
    const end = bytes.indexOf(0x0a);
    if (end === -1 && bytes.length <= LINE_BYTES) continue;
    if (end === -1 || end > LINE_BYTES || bytes[end - 1] !== 0x0d) throw new BadHead('it has a broken chunk');
    line.unread(bytes.subarray(end + 1));
    return bytes.toString('latin1', 0, end - 1);
  }
}
