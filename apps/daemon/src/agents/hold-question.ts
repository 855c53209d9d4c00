import { type HookKey, MOST_HEAD, type ReadQuestion, readQuestion } from './hook-frames.ts';

export interface HeldQuestion {
  /** What has arrived besides. Never again after it was something else than `more`. */
  hear(bytes: Buffer): ReadQuestion;
}

/**
 * SECURITY: T-39 — pieces are joined while the head is not whole, and once more at the end: joining at each of them is work
 * that grows with the square of what somebody without a key sends.
 */
export function holdQuestion(key: HookKey): HeldQuestion {
  const pieces: Buffer[] = [];
  let length = 0;
  let whole: number | undefined;
  return {
    hear(bytes) {
      pieces.push(bytes);
      length += bytes.length;
      if (whole !== undefined && length < whole) return { kind: 'more', whole };
      const read = readQuestion(joined(pieces), key);
      if (read.kind === 'more') whole = read.whole;
      // A head that is not whole by now is none.
      return read.kind === 'more' && whole === undefined && length > MOST_HEAD ? { kind: 'refused' } : read;
    },
  };
}

/** And from then on one piece. */
function joined(pieces: Buffer[]): Buffer {
  const all = Buffer.concat(pieces);
  pieces.splice(0, pieces.length, all);
  return all;
}
