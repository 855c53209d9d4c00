import { CutShort } from './http-body.ts';
import { BadHead, findHeadEnd, HEAD_LIMITS, type HeadLimits } from './http-head.ts';
import type { Line } from './line.ts';

/** An honest head comes in one piece or a few; each piece costs us a look at all of it. */
const MOST_PIECES = 512;

export class TooSlow extends Error {}

export interface HeadReading {
  /** For the whole head, once its first byte is there. */
  readonly headMs: number;
  readonly limits?: HeadLimits;
}

/** The bytes of one head with its empty line, or undefined when the other side ended in front of it. Throws `BadHead`, `CutShort`, `TooSlow`. */
export async function readHead(line: Line, { headMs, limits = HEAD_LIMITS }: HeadReading): Promise<Buffer | undefined> {
  const first = await line.read();
  if (first === undefined) return undefined;
  const end = findHeadEnd(first, limits);
  if (end !== -1) return splitAt(line, first, end);
  // SECURITY: T-25 — the clock runs for the head as a whole: a byte now and then does not turn it back.
  let isLate = false;
  const timer = setTimeout(() => {
    isLate = true;
    // Whoever reads is woken; what it reads does not matter any more.
    line.unread(Buffer.from('\n'));
  }, headMs);
  try {
    return await readOn(line, first, { limits, isLate: () => isLate });
  } finally {
    clearTimeout(timer);
  }
}

interface ReadingOn {
  readonly limits: HeadLimits;
  isLate(): boolean;
}

async function readOn(line: Line, first: Buffer, { limits, isLate }: ReadingOn): Promise<Buffer> {
  let bytes = first;
  for (let pieces = 1; pieces < MOST_PIECES; pieces += 1) {
    const more = await line.read();
    if (isLate()) throw new TooSlow();
    if (more === undefined) throw new CutShort();
    const seen = bytes.length;
    bytes = Buffer.concat([bytes, more]);
    const end = findHeadEnd(bytes, limits, seen);
    if (end !== -1) return splitAt(line, bytes, end);
  }
  throw new BadHead('its head comes in too many pieces');
}

function splitAt(line: Line, bytes: Buffer, end: number): Buffer {
  line.unread(bytes.subarray(end));
  return bytes.subarray(0, end);
}
