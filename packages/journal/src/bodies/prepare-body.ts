import { createHash, hash } from 'node:crypto';
import type { RandomBytes } from '@palyra/primitives/browser';
import { SALT_BYTES } from '../format/commitment.ts';
import { openSpillFile, type SpillFile } from './spill-file.ts';

export interface Body {
  /** Hexadecimal. */
  readonly commitment: string;
  readonly salt: Uint8Array;
  /** How many bytes are kept, which are those committed to. */
  readonly bytes: number;
  /** How many there were. More than `bytes`: the rest was cut off. */
  readonly totalBytes: number;
  /** In the row when small, else in a file of the bodies directory named by its commitment. */
  readonly content: Uint8Array | 'file';
}

/** Text counts as its UTF-8 bytes, half a surrogate pair as U+FFFD. */
export type BodySource = Uint8Array | string | AsyncIterable<Uint8Array>;

export interface BodyPreparerDeps {
  /** Made when first needed. Undefined where nodes share no disk: then every body is in its row. */
  readonly directory: string | undefined;
  readonly random: RandomBytes;
  /** The most that goes into a row. */
  readonly inlineBytes?: number;
  /** The most that is kept. */
  readonly maxBytes?: number;
}

export interface BodyPreparer {
  /**
   * Reads the source to its end, however long it is, and holds no more of it in memory than a row may have. A body in a
   * file is durable when this returns, and is swept unless a row soon refers to it. Throws what the source throws,
   * `journal.not_recorded` when the disk takes no more, `journal.body_unsafe`; then nothing is left behind.
   */
  prepare(source: BodySource): Promise<Body>;
}

const INLINE_BYTES = 64 * 1024;
/** Unless somebody says otherwise. */
export const MAX_BYTES: number = 16 * 1024 * 1024;
/** Smaller writes would cost more than the bytes themselves. */
const WRITE_BYTES = 64 * 1024;

export function createBodyPreparer(deps: BodyPreparerDeps): BodyPreparer {
  const { directory, random, inlineBytes = INLINE_BYTES, maxBytes = MAX_BYTES } = deps;
  const place: Place =
    directory === undefined
      ? { rowBytes: maxBytes, bufferBytes: maxBytes, openFile: noFile }
      : {
          rowBytes: inlineBytes,
          bufferBytes: Math.max(inlineBytes, WRITE_BYTES),
          openFile: () => openSpillFile(directory),
        };

  return {
    async prepare(source) {
      const salt = random(SALT_BYTES);
      // Nearly all of them, several in every call: taken at once, so nobody changes them meanwhile and nothing has to grow.
      const short = shortBytes(source, Math.min(inlineBytes, maxBytes));
      if (short !== undefined) return shortBody(short, salt);
      const keeper = createKeeper(salt, place);
      let totalBytes = 0;
      try {
        for await (const piece of piecesOf(source)) {
          const room = Math.max(maxBytes - totalBytes, 0);
          totalBytes += piece.length;
          await keeper.add(piece.subarray(0, room));
        }
        const kept = await keeper.finish();
        return { ...kept, salt, bytes: Math.min(totalBytes, maxBytes), totalBytes };
      } catch (thrown) {
        await keeper.discard();
        throw thrown;
      }
    },
  };
}

const encoder = new TextEncoder();

/** A copy of its own size; undefined for what may be more than these, and for what is still to come. */
function shortBytes(source: BodySource, most: number): Uint8Array | undefined {
  if (typeof source === 'string') return 3 * source.length <= most ? encoder.encode(source) : undefined;
  return source instanceof Uint8Array && source.length <= most ? new Uint8Array(source) : undefined;
}

function shortBody(content: Uint8Array, salt: Uint8Array): Body {
  const commitment = hash('sha256', Buffer.concat([salt, content]), 'hex');
  return { commitment, salt, bytes: content.length, totalBytes: content.length, content };
}

interface Place {
  readonly rowBytes: number;
  readonly bufferBytes: number;
  openFile(): Promise<SpillFile>;
}

interface Keeper {
  add(piece: Uint8Array): Promise<void>;
  finish(): Promise<Pick<Body, 'commitment' | 'content'>>;
  discard(): Promise<void>;
}

/**
 * Copies every piece, and hashes the copy just before it is stored: whoever gave the piece may write over it while the
 * disk is awaited, and what is committed to must be what is kept.
 */
function createKeeper(salt: Uint8Array, { rowBytes, bufferBytes, openFile }: Place): Keeper {
  const sum = createHash('sha256').update(salt);
  let buffer = new Uint8Array(0);
  let used = 0;
  let file: SpillFile | undefined;

  const spill = async () => {
    file ??= await openFile();
    const full = buffer.subarray(0, used);
    sum.update(full);
    await file.write(full);
    used = 0;
    return file;
  };

  return {
    async add(piece) {
      let rest = piece;
      while (rest.length > 0) {
        if (used === bufferBytes) await spill();
        const part = rest.subarray(0, bufferBytes - used);
        if (used + part.length > buffer.length) buffer = grown(buffer, used + part.length, bufferBytes);
        buffer.set(part, used);
        used += part.length;
        rest = rest.subarray(part.length);
      }
    },
    async finish() {
      if (file === undefined && used <= rowBytes) {
        // A copy of its own size: a view would take the whole buffer along when it is sent to the writer's thread.
        const content = buffer.slice(0, used);
        return { commitment: sum.update(content).digest('hex'), content };
      }
      const spilled = await spill();
      const commitment = sum.digest('hex');
      await spilled.keepAs(commitment);
      return { commitment, content: 'file' };
    },
    discard: async () => file?.discard(),
  };
}

function grown(buffer: Uint8Array, needed: number, limit: number): Uint8Array<ArrayBuffer> {
  const larger = new Uint8Array(Math.min(Math.max(needed, 2 * buffer.length), limit));
  larger.set(buffer);
  return larger;
}

function noFile(): never {
  throw new Error('Without a directory, the buffer takes all that is kept.');
}

function piecesOf(source: BodySource): AsyncIterable<Uint8Array> | Iterable<Uint8Array> {
  if (typeof source === 'string') return utf8Pieces(source);
  return source instanceof Uint8Array ? [source] : source;
}

const TEXT_PIECE = 64 * 1024;

/** In pieces, because the bytes of a long text are up to three times its length. */
function* utf8Pieces(text: string): Generator<Uint8Array> {
  let start = 0;
  while (start < text.length) {
    let end = Math.min(start + TEXT_PIECE, text.length);
    // The second half of a surrogate pair must be in the same piece as the first.
    if (end < text.length && isHighSurrogate(text.charCodeAt(end - 1))) end -= 1;
    yield encoder.encode(text.slice(start, end));
    start = end;
  }
}

function isHighSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdbff;
}
