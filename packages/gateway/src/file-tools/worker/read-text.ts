import { closeSync, fstatSync } from 'node:fs';
import { FileFailure } from './file-failure.ts';
import { looksBinary, openRegular, readUpTo, readWhole } from './open-file.ts';
import { refuseProtected } from './protected-paths.ts';
import type { ReadInput, ReadOutput } from './tool-shapes.ts';
import { closePlace, type Entry, walkPath } from './walk-path.ts';
import type { Workplace } from './workplace.ts';

const DEFAULT_BYTES = 256 * 1024;

/** Lines of a text file, or bytes of any file. Throws `FileFailure`. */
export function readText(workplace: Workplace, input: ReadInput): ReadOutput {
  const { root, limits, guard } = workplace;
  const place = walkPath(root, input.path, { followLast: true });
  try {
    const { path, entry } = place;
    if (entry === undefined) throw new FileFailure('file.not_found', 'There is nothing at this path.', { path });
    const reason = guard.protectedPaths.reasonFor(path, 'read');
    refuseProtected(reason === undefined ? [] : [{ path, reason }], guard.allowProtected);
    const maxBytes = Math.min(input.max_bytes ?? DEFAULT_BYTES, limits.readBytes);
    // A digest of the whole is for those files that can also be written whole.
    const digest = entry.stat.size <= limits.fileBytes ? readWhole(entry, path, limits.fileBytes) : undefined;
    const about = { path, size_bytes: digest?.bytes.length ?? entry.stat.size, sha256: digest?.sha256 ?? null };
    const part = input.encoding === 'base64' ? bytesOf(entry, path, { input, maxBytes }) : undefined;
    return { ...about, ...(part ?? linesOf(entry, path, { input, maxBytes, scanBytes: limits.searchBytes })) };
  } finally {
    closePlace(root, place);
  }
}

type Part = Pick<ReadOutput, 'encoding' | 'content' | 'truncated' | 'first_line' | 'line_count' | 'lossy'>;

function bytesOf(
  entry: Entry,
  path: string,
  { input, maxBytes }: { readonly input: ReadInput; readonly maxBytes: number },
): Part {
  const fd = openRegular(entry, path);
  try {
    const offset = input.byte_offset ?? 0;
    const bytes = readUpTo(fd, offset, maxBytes);
    const truncated = offset + bytes.length < fstatSync(fd).size;
    const none = { first_line: null, line_count: null, lossy: false };
    return { encoding: 'base64', content: bytes.toString('base64'), truncated, ...none };
  } finally {
    closeSync(fd);
  }
}

interface LineQuestion {
  readonly input: ReadInput;
  readonly maxBytes: number;
  /** How far a line is looked for. */
  readonly scanBytes: number;
}

function linesOf(entry: Entry, path: string, question: LineQuestion): Part {
  const fd = openRegular(entry, path);
  try {
    const { input, maxBytes } = question;
    if (looksBinary(readUpTo(fd, 0, 8192))) {
      throw new FileFailure('file.binary', 'The file is not text.', { path, fix: 'Ask for encoding "base64".' });
    }
    const firstLine = input.first_line ?? 1;
    const start = offsetOfLine(fd, firstLine, question.scanBytes);
    if (start === undefined) {
      throw new FileFailure('file.invalid_input', `The file has fewer than ${firstLine} lines.`, { path });
    }
    const taken = readUpTo(fd, start, maxBytes + 1);
    const bytes = firstLines(taken.subarray(0, maxBytes), input.line_limit ?? Infinity);
    const text = wholeCharacters(bytes, bytes.length < taken.length);
    const content = text.toString('utf8');
    return {
      encoding: 'utf8',
      content,
      truncated: start + text.length < fstatSync(fd).size,
      first_line: firstLine,
      line_count: content === '' ? 0 : content.split('\n').length - (content.endsWith('\n') ? 1 : 0),
      lossy: content.includes('\uFFFD') && !Buffer.from(content).equals(text),
    };
  } finally {
    closeSync(fd);
  }
}

/** Undefined when the file ends before, or when it is further away than anybody looks. */
function offsetOfLine(fd: number, line: number, scanBytes: number): number | undefined {
  let [offset, missing] = [0, line - 1];
  while (missing > 0) {
    if (offset >= scanBytes) return undefined;
    const piece = readUpTo(fd, offset, 64 * 1024);
    if (piece.length === 0) return undefined;
    let at = 0;
    while (missing > 0) {
      const next = piece.indexOf(10, at);
      if (next < 0) break;
      at = next + 1;
      missing -= 1;
    }
    offset += missing === 0 ? at : piece.length;
  }
  return offset;
}

function firstLines(bytes: Buffer, limit: number): Buffer {
  let at = 0;
  for (let count = 0; count < limit; count += 1) {
    const next = bytes.indexOf(10, at);
    if (next < 0) return bytes;
    at = next + 1;
  }
  return bytes.subarray(0, at);
}

/** What was cut in the middle of a character ends before it. */
function wholeCharacters(bytes: Buffer, isCut: boolean): Buffer {
  if (!isCut) return bytes;
  for (let back = 1; back <= Math.min(4, bytes.length); back += 1) {
    const byte = bytes[bytes.length - back] ?? 0;
    if (byte < 0x80) return bytes;
    if (byte >= 0xc0) {
      const length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2;
      return length > back ? bytes.subarray(0, bytes.length - back) : bytes;
    }
  }
  return bytes;
}
