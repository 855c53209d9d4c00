import { createHash } from 'node:crypto';
import { type BigIntStats, closeSync, constants, fstatSync, openSync, read, readdirSync, readlinkSync } from 'node:fs';
import { promisify } from 'node:util';
import { type FileStamp, stampKey } from '../guard/program-files.ts';

/** One file, by its descriptor and not by its name. */
export interface OpenFile {
  readonly stamp: FileStamp;
  /** The first bytes. */
  readonly head: Uint8Array;
  readonly sha256: string;
  /** Everything, where that was asked for. */
  readonly content: Uint8Array | undefined;
}

export type Opening =
  | { readonly kind: 'open'; readonly file: OpenFile }
  | { readonly kind: 'closed'; readonly why: 'unreadable' | 'too_large' | 'changing' };

export interface BoundFileReader {
  /** Of a resolved path. `keep`: its bytes are needed, and may be so many at most. Does not throw. */
  open(path: string, keep?: { readonly most: number }): Promise<Opening>;
  /** Names in a resolved directory; empty when it is none, or another one by now. */
  list(path: string): readonly string[];
}

/** Of all files of a command that are copied: `native/wire.h` has room for so many. */
export const MOST_COPIED_BYTES: number = 128 * 1024 * 1024;

const HEAD_BYTES = 512;
const CHUNK_BYTES = 1024 * 1024;
const MOST_DIGESTS = 256;
const readSome = promisify(read);

export function createBoundFileReader(): BoundFileReader {
  const digests = new Map<string, Pick<OpenFile, 'sha256' | 'head'>>();
  return {
    list: (path) => within(path, constants.O_DIRECTORY, (fd) => readdirSync(`/proc/self/fd/${fd}`)) ?? [],
    async open(path, keep) {
      const opened = await within(path, constants.O_NONBLOCK | constants.O_NOCTTY, async (fd): Promise<Opening> => {
        const before = fstatSync(fd, { bigint: true });
        if (!before.isFile()) return { kind: 'closed', why: 'unreadable' };
        if (keep !== undefined) return readWhole(fd, before, keep.most);

        const stamp = stampOf(before);
        const known = digests.get(stampKey(stamp)) ?? (await hashWhole(fd));
        // SECURITY: T-04 — a file that changed while it was read has no digest.
        if (stampKey(stampOf(fstatSync(fd, { bigint: true }))) !== stampKey(stamp)) return CHANGING;
        if (digests.size >= MOST_DIGESTS) digests.clear();
        digests.set(stampKey(stamp), known);
        return { kind: 'open', file: { stamp, ...known, content: undefined } };
      });
      return opened ?? { kind: 'closed', why: 'unreadable' };
    },
  };
}

const CHANGING: Opening = { kind: 'closed', why: 'changing' };

/** Undefined where there is nothing of that kind, or where another way now leads there. */
function within<T>(path: string, flags: number, use: (fd: number) => T): T | undefined {
  let fd: number;
  try {
    fd = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | flags);
  } catch {
    return undefined;
  }
  const close = () => closeSync(fd);
  try {
    // SECURITY: T-14 — a directory above that was swapped for a link leads elsewhere, and we read with more rights than a tool.
    const used = readlinkSync(`/proc/self/fd/${fd}`) === path ? use(fd) : undefined;
    if (!(used instanceof Promise)) {
      close();
      return used;
    }
    return used.finally(close).catch(() => undefined) as T;
  } catch {
    close();
    return undefined;
  }
}

async function readWhole(fd: number, stats: BigIntStats, most: number): Promise<Opening> {
  if (stats.size > most) return { kind: 'closed', why: 'too_large' };
  // One more: a file that grew meanwhile shows in that.
  const bytes = Buffer.alloc(Number(stats.size) + 1);
  let length = 0;
  for (;;) {
    const { bytesRead } = await readSome(fd, bytes, length, Math.min(CHUNK_BYTES, bytes.length - length), length);
    length += bytesRead;
    if (bytesRead === 0) break;
    if (length === bytes.length) return CHANGING;
  }
  // SECURITY: T-04 — of the bytes that will run, not of the file: whoever writes it now is too late.
  const content = bytes.subarray(0, length);
  const sha256 = createHash('sha256').update(content).digest('hex');
  return { kind: 'open', file: { stamp: stampOf(stats), head: content.subarray(0, HEAD_BYTES), sha256, content } };
}

async function hashWhole(fd: number): Promise<Pick<OpenFile, 'sha256' | 'head'>> {
  const hash = createHash('sha256');
  const chunk = Buffer.alloc(CHUNK_BYTES);
  let head: Uint8Array | undefined;
  for (let at = 0; ; ) {
    const { bytesRead } = await readSome(fd, chunk, 0, chunk.length, at);
    head ??= Uint8Array.from(chunk.subarray(0, Math.min(bytesRead, HEAD_BYTES)));
    if (bytesRead === 0) return { sha256: hash.digest('hex'), head };
    hash.update(chunk.subarray(0, bytesRead));
    at += bytesRead;
  }
}

function stampOf({ dev, ino, size, mtimeNs, ctimeNs }: BigIntStats): FileStamp {
  return { device: dev, inode: ino, size, modified: mtimeNs, changed: ctimeNs };
}
