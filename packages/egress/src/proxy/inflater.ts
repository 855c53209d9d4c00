import type { Transform } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate, createZstdDecompress } from 'node:zlib';
import { BadHead } from './http-head.ts';

/** Takes a body as it came, and gives it as it was meant. */
export interface Inflater {
  /** Settles when the piece is through; rejects when too much came out of it. */
  write(piece: Buffer): Promise<void>;
  end(): Promise<Uint8Array>;
  destroy(): void;
}

export interface InflaterLimits {
  readonly most: number;
  tooLarge(): Error;
}

const OPENERS: Readonly<Record<string, () => Transform>> = {
  gzip: () => createGunzip({ chunkSize: CHUNK }),
  'x-gzip': () => createGunzip({ chunkSize: CHUNK }),
  deflate: () => createInflate({ chunkSize: CHUNK }),
  br: () => createBrotliDecompress({ chunkSize: CHUNK }),
  zstd: () => createZstdDecompress({ chunkSize: CHUNK }),
};
const CHUNK = 64 * 1024;

/** `codings` are the values of content-encoding. One at most: nested ones are how small files become endless. */
export function inflater(codings: readonly string[], { most, tooLarge }: InflaterLimits): Inflater {
  const names = codings.flatMap((value) => value.toLowerCase().split(',')).map((name) => name.trim());
  const wanted = names.filter((name) => name !== 'identity' && name !== '');
  if (wanted.length > 1) throw new BadHead('it is compressed more than once');
  const [name] = wanted;
  if (name === undefined) return plain({ most, tooLarge });
  const open = Object.hasOwn(OPENERS, name) ? OPENERS[name] : undefined;
  if (open === undefined) throw new BadHead('it is compressed in a way that was not asked for');
  return inflating(open(), { most, tooLarge });
}

function plain({ most, tooLarge }: InflaterLimits): Inflater {
  const pieces: Buffer[] = [];
  let bytes = 0;
  return {
    async write(piece) {
      bytes += piece.length;
      if (bytes > most) throw tooLarge();
      pieces.push(piece);
    },
    end: async () => Buffer.concat(pieces),
    destroy: () => {},
  };
}

/** SECURITY: T-17 — a bomb is stopped by what comes out of it, piece by piece, and nothing is read on until it was counted. */
function inflating(stream: Transform, { most, tooLarge }: InflaterLimits): Inflater {
  const pieces: Buffer[] = [];
  let bytes = 0;
  let fault: Error | undefined;
  let wake: (() => void) | undefined;
  const fail = (error: Error): void => {
    fault ??= error;
    stream.destroy();
    wake?.();
  };
  stream.on('data', (piece: Buffer) => {
    bytes += piece.length;
    if (bytes > most) fail(tooLarge());
    else pieces.push(piece);
  });
  stream.on('error', () => fail(new BadHead('its compression is broken')));
  const settled = (begin: (done: () => void) => void): Promise<void> =>
    new Promise((resolve, reject) => {
      const done = (): void => {
        wake = undefined;
        if (fault === undefined) resolve();
        else reject(fault);
      };
      wake = done;
      if (fault === undefined) begin(done);
      else done();
    });
  return {
    write: (piece) => settled((done) => stream.write(piece, done)),
    async end() {
      await settled((done) => {
        stream.once('end', done);
        stream.end();
      });
      return Buffer.concat(pieces);
    },
    destroy: () => void stream.destroy(),
  };
}
